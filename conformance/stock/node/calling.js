// One call.

import {outcomeLine} from './lines.js';
import {Service} from './service.js';

/**
 * Makes a call, waits for its end, and tells of it. A call has `client`, `method`, `requests` (messages, or buffers to
 * be sent as they stand), `metadata`, `timeoutMs`; `held`, a promise of when the requests behind the first may be sent;
 * `answered`, which is called at the first answer; `begun`, which is given what cancels the call.
 */
export async function makeCall(call) {
  const result = {header: undefined, status: undefined, answers: []};
  const method = Service.service[call.method];
  let failure; // of a unary call that the status calls a success
  const running = begin(call, method, (error, answer) => {
    failure = error;
    if (answer) take(call, result, answer);
  });
  const ended = [event(running, 'status').then((status) => (result.status = status))];
  if (method.responseStream) {
    ended.push(event(running, 'end'));
    running.on('data', (answer) => take(call, result, answer));
  }
  running.on('error', () => {}); // the status says it
  running.on('metadata', (header) => (result.header = header));
  call.begun(() => running.cancel());
  if (method.requestStream) void sendAll(call, running);
  await Promise.all(ended);
  if (failure && result.status.code === 0) result.status = failure;
  return outcomeLine(result);
}

function begin({client, method: name, requests, metadata, timeoutMs}, method, callback) {
  const options = timeoutMs === undefined ? {} : {deadline: Date.now() + timeoutMs};
  const words = [metadata, options];
  if (!method.requestStream) words.unshift(requests[0] ?? {});
  if (!method.responseStream) words.push(callback);
  // No stub sends bytes that are no message: what encodes is left out then.
  if (!requests.some(Buffer.isBuffer)) return client[name](...words);
  const encode = (request) => (Buffer.isBuffer(request) ? request : method.requestSerialize(request));
  return client[`make${kindOf(method)}Request`](method.path, encode, method.responseDeserialize, ...words);
}

function kindOf({requestStream, responseStream}) {
  if (requestStream) return responseStream ? 'BidiStream' : 'ClientStream';
  return responseStream ? 'ServerStream' : 'Unary';
}

function take(call, result, answer) {
  result.answers.push(answer);
  if (result.answers.length === 1) call.answered();
}

/** Sends the requests; what is not sent when the call ends is never sent. */
async function sendAll({requests, held}, running) {
  for (const [number, request] of requests.entries()) {
    if (number === 1) await held;
    await new Promise((sent) => running.write(request, sent));
  }
  running.end();
}

function event(emitter, name) {
  return new Promise((happened) => emitter.once(name, happened));
}
