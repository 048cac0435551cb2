// The stubs that proto-loader makes; the program's argument is the folder of the .proto files.

import grpc from '@grpc/grpc-js';
import protoLoader from '@grpc/proto-loader';

const loaded = protoLoader.loadSync('conformance/v1/conformance.proto', {includeDirs: [process.argv[2]], enums: String});

export const Service = grpc.loadPackageDefinition(loaded).trunkcall.conformance.v1.ConformanceService;

/** The details of a google.rpc.Status, whose fields have the types and numbers of an Outcome's. */
export function detailsOf(status) {
  return loaded['trunkcall.conformance.v1.Outcome'].deserialize(status).details ?? [];
}
