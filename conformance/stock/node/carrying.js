// One case while it is carried out.

import {makeCall} from './calling.js';
import {fromPairs, plain, requestOf} from './lines.js';

export class Carrying {
  /** `askFor` has the runner do something. */
  constructor(client, askFor) {
    this.client = client;
    this.askFor = askFor;
    this.released = new Promise((resolve) => (this.release = resolve));
  }

  async carryOut(lines) {
    const calls = [];
    for (const line of lines) {
      const one = {line, requests: (line.requests ?? []).map(requestOf)};
      one.id = one.requests[0]?.plan?.id;
      one.firstAnswer = new Promise((resolve) => (one.answered = resolve));
      await this.turnOf(one, calls.at(-1));
      one.outcome = this.make(one);
      one.outcome.catch(() => {}); // it is told when all have ended
      calls.push(one);
    }
    await Promise.allSettled(calls.filter(({line}) => !line.hold).map(({outcome}) => outcome));
    this.release();
    return Promise.all(calls.map(({outcome}) => outcome));
  }

  /** Waits until a call may begin, and has done what is to be done before. */
  async turnOf(one, before) {
    if (one.line.begin === 'beside') await this.started(before);
    else if (before && one.line.begin !== 'at-once') await before.outcome.catch(() => {});
    if (one.line.do) await this.askFor(one.line.do);
  }

  /** Waits until the handler of a call has started. */
  async started(one) {
    if (one.line.hold) await one.firstAnswer;
    else await this.observe(one, 'STARTED');
  }

  observe({id}, until) {
    if (!id) throw new Error('the call has no plan with an id');
    return new Promise((resolve, reject) => {
      this.client.Observe({id, until}, (error, observed) => (error ? reject(error) : resolve(observed)));
    });
  }

  /** Makes a call, gives it up when its line says so, and looks what became of it. */
  async make(one) {
    const {line} = one;
    let watching;
    const outcome = await makeCall({
      client: this.client,
      method: line.method,
      requests: one.requests,
      metadata: fromPairs(line.metadata, {waitForReady: line.waitForReady}),
      timeoutMs: line.timeoutMs,
      held: line.hold ? this.released : undefined,
      answered: one.answered,
      begun: (cancel) => (watching = this.watch(one, cancel)),
    });
    if (line.cancel === 'started') await watching;
    if (line.observe) outcome.observed = plain(await this.observe(one, line.observe));
    return outcome;
  }

  async watch(one, cancel) {
    if (one.line.cancel === 'started') await this.started(one);
    else if (one.line.cancel === 'answered') await one.firstAnswer;
    else if (one.line.cancel !== 'before') return;
    cancel();
  }
}
