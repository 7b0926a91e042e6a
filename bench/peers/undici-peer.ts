import { Agent, request } from 'undici';
import { inSlots, type Peer } from './peer.ts';

/** The fastest HTTP client of the platform, by itself. */
export const plainUndici: Peer = async (run) => {
  const dispatcher = new Agent({ connections: run.slots, pipelining: 1 });
  await inSlots(run, async (url) => {
    try {
      const answer = await request(url, { dispatcher, signal: run.signal });
      await answer.body.arrayBuffer();
      run.tally.end(answer.statusCode < 300 ? 'served' : 'lost');
    } catch {
      if (!run.signal.aborted) run.tally.end('lost');
    }
  });
};
