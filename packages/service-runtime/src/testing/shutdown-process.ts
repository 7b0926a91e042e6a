// A process that ends in the way its argument names; started by ordered-shutdown.test.ts.
import { createLogger } from '../logger.ts';
import { OrderedShutdown, type ShutdownStep } from '../ordered-shutdown.ts';

const logger = createLogger({ service: 'fixture', instance: 'i', level: 'info' });
const shutdown = new OrderedShutdown({ logger });
const step = (name: string, withinMs: number, run: () => Promise<void> | void): ShutdownStep => ({
  name,
  withinMs,
  run,
});
const say = (name: string) => (): void => logger.info('step', { name });
const forever = (): Promise<void> => new Promise(() => undefined);
const chatter = (): void => {
  for (let line = 0; line < 60; line += 1) logger.info('x'.repeat(1_900));
};
const fail = (): never => {
  throw new Error('lost http://u:CANARY@a.test/');
};

const modes: Record<string, () => void> = {
  orderly: () => shutdown.add(step('first', 1_000, say('first')), step('second', 1_000, say('second'))),
  stuck: () =>
    shutdown.add(step('hangs', 50, forever), step('fails', 1_000, fail), step('last', 1_000, say('last'))),
  endless: () => shutdown.add(step('endless', 600_000, forever)),
  uncaught: () => void setTimeout(fail, 10),
  rejected: () => void setTimeout(() => void Promise.reject(new Error('lost http://u:CANARY@a.test/')), 10),
  chatty: () => shutdown.add(step('chatter', 5_000, chatter)),
  'chatty-uncaught': () =>
    void setTimeout(() => {
      chatter();
      fail();
    }, 10),
};

shutdown.listen();
modes[process.argv[2] ?? '']?.();
setInterval(() => undefined, 1_000);
logger.info('ready');
