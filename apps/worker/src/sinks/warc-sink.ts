import { mkdir } from 'node:fs/promises';
import { DeliveryFault, type DeliveredPage, type EndedUrl, type Sink } from '../deliver-result.ts';
import { probeFolder } from './probe-folder.ts';
import { WarcFile } from './warc-file.ts';
import { warcInfo, warcRecords } from './warc-records.ts';

export interface WarcSinkOptions {
  readonly folder: string;
  readonly workerId: string;
  readonly userAgent: string;
  readonly fileBytesMax: number;
  readonly wallMs: () => number;
  readonly sync?: boolean;
}

/** WARC 1.1 files (ISO 28500:2017), gzip per record, for web archives and their tools. */
export async function createWarcSink(options: WarcSinkOptions): Promise<Sink> {
  const { folder, workerId, userAgent, fileBytesMax, wallMs, sync = true } = options;
  const name = `WARC folder ${folder}`;
  await mkdir(folder, { recursive: true });
  const file = new WarcFile({
    folder,
    prefix: workerId,
    fileBytesMax,
    head: (filename) => warcInfo(filename, userAgent, new Date(wallMs()).toISOString()),
    wallMs,
    sync,
  });
  return {
    name,
    async deliver(ended: EndedUrl, page: DeliveredPage): Promise<void> {
      try {
        await file.append(await warcRecords(ended, page, userAgent));
      } catch (error) {
        throw new DeliveryFault(name, error);
      }
    },
    probe: () => probeFolder(folder),
    close: () => file.close(),
  };
}
