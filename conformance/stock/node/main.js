// Carries out conformance cases with grpc-js, unmodified; proto-loader makes the stubs.
//
//   node main.js FOLDER     where the .proto files are
//
// conformance/cases/README.md describes the lines that it reads and prints.

import {readFileSync} from 'node:fs';
import readline from 'node:readline';

import grpc from '@grpc/grpc-js';

import {Carrying} from './carrying.js';
import {Service} from './service.js';

// Bounds a case in which something hangs, in milliseconds.
const LIMIT = 60_000;
// The framework's own limit, in bytes: gRPC's is 4 MiB.
const MAX_MESSAGE = 64 << 20;

const lines = readline.createInterface({input: process.stdin})[Symbol.asyncIterator]();
const kept = new Map(); // clients by what cases want of them

for (let line = await lines.next(); !line.done; line = await lines.next()) {
  const one = JSON.parse(line.value);
  try {
    tell({name: one.name, outcomes: await bounded(carryOut(one))});
  } catch (error) {
    tell({name: one.name, error: String(error)});
  }
}
process.exit(0); // whatever a case that has failed left behind

async function carryOut(one) {
  const client = clientFor(one);
  try {
    return await new Carrying(client, (what) => askFor(one.name, what)).carryOut(one.calls);
  } finally {
    if (one.ownConnection) client.close();
  }
}

/** One of the case's own, or the one for all cases that want the same. */
function clientFor(one) {
  if (one.ownConnection) return makeClient(one);
  const key = JSON.stringify([one.target, one.tls, one.client]);
  if (!kept.has(key)) kept.set(key, makeClient(one));
  return kept.get(key);
}

function makeClient(one) {
  const wanted = one.client ?? {};
  const options = {
    'grpc.max_receive_message_length': wanted.maxMessage ?? MAX_MESSAGE,
    'grpc.max_send_message_length': wanted.maxMessage ?? -1,
    'grpc.initial_reconnect_backoff_ms': 20,
    'grpc.max_reconnect_backoff_ms': 20,
    'grpc.use_local_subchannel_pool': one.ownConnection ? 1 : 0,
  };
  if (wanted.codec || (wanted.compression ?? 'gzip') !== 'gzip') {
    throw new Error(`grpc-js cannot be set up so: ${JSON.stringify(wanted)}`);
  }
  if (wanted.compression) options['grpc.default_compression_algorithm'] = grpc.compressionAlgorithms.gzip;
  return new Service(one.target, credentialsOf(one.tls), options);
}

function credentialsOf(files) {
  if (!files) return grpc.credentials.createInsecure();
  const [ca, key, cert] = [files.ca, files.key, files.cert].map((name) => (name ? readFileSync(name) : null));
  return grpc.credentials.createSsl(ca, key, cert);
}

/** Has the runner do something, and waits until that is done. */
async function askFor(name, what) {
  tell({name, do: what});
  await lines.next();
}

function tell(line) {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

async function bounded(promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not done within ${LIMIT} ms`)), LIMIT);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
