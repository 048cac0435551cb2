import asyncio

import greeter_pb2 as pb
import trunkcall

greet = trunkcall.unary("/hello.Greeter/Greet", pb.Name, pb.Greeting)


async def hello(request: pb.Name, call: trunkcall.ServerCall) -> pb.Greeting:
    if not request.name:
        raise trunkcall.StatusError(trunkcall.Code.INVALID_ARGUMENT, "who?")
    return pb.Greeting(text=f"hello {request.name}")


async def main() -> None:
    server = trunkcall.Server()
    server.register(greet.handler(hello))
    async with trunkcall.Client(await server.listen("127.0.0.1:0")) as client:
        for name in ("Ada", ""):
            try:
                print((await client.call(greet, pb.Name(name=name), timeout=5)).text)
            except trunkcall.StatusError as error:
                print(error)
    await server.stop(grace=5)


asyncio.run(main())
