// The lines of conformance/cases/README.md, section 3.

import {createHash} from 'node:crypto';

import grpc from '@grpc/grpc-js';

import {detailsOf} from './service.js';

/** A request, or the bytes to send in its place. */
export function requestOf(line) {
  if (line.bytes !== undefined) return Buffer.from(line.bytes, 'base64');
  const request = {...line.message};
  if (line.size) request.data = makeData(line.size, line.noise);
  return request;
}

/** The bytes that conformance.proto describes. */
function makeData(size, noise) {
  const data = Buffer.alloc(size);
  let state = 1;
  for (let i = 0; i < size; i++) {
    if (noise) state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    data[i] = noise ? state >>> 24 : i % 251;
  }
  return data;
}

const isBinary = (key) => key.endsWith('-bin');

/** Metadata of a line: a value of a key that ends in -bin is base64. `options` are those of the call that go with it. */
export function fromPairs(pairs = [], options = {}) {
  const metadata = new grpc.Metadata(options);
  for (const [key, value] of pairs) metadata.add(key, isBinary(key) ? Buffer.from(value, 'base64') : value);
  return metadata;
}

export function toPairs(metadata) {
  const pairs = [];
  for (const key of Object.keys(metadata?.getMap() ?? {})) {
    for (const value of metadata.get(key)) pairs.push([key, isBinary(key) ? value.toString('base64') : value]);
  }
  return pairs;
}

export function answerLine({data = Buffer.alloc(0), ...rest}) {
  return {size: data.length, sha256: createHash('sha256').update(data).digest('hex'), ...plain(rest)};
}

/** A message in the JSON of Protobuf: bytes in base64. */
export function plain(value) {
  if (Buffer.isBuffer(value)) return value.toString('base64');
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, plain(inner)]));
}

/**
 * An outcome. Of the delivery it has only what the server has sent: what its absence means depends on who has ended the
 * call, and that is not known.
 */
export function outcomeLine({header, status, answers}) {
  const [delivery] = status.metadata.get('trunk-delivery');
  const [encoded] = status.metadata.get('grpc-status-details-bin');
  return {
    code: grpc.status[status.code],
    message: status.details,
    details: encoded ? plain(detailsOf(encoded)).map(({typeUrl = '', value = ''}) => ({typeUrl, value})) : [],
    ...(delivery === undefined ? {} : {delivery}),
    header: toPairs(header),
    trailer: toPairs(status.metadata),
    answers: answers.map(answerLine),
  };
}
