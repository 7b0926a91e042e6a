import { createReadStream } from 'node:fs';
import { WARCParser } from 'warcio';

export interface ReadRecord {
  readonly type: string;
  readonly url: string;
  readonly statusline: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly warcHeader: (name: string) => string | null;
  readonly text: string;
  /** Of a metadata record. */
  readonly key: string | null;
}

/** All whole records of a file, read by the library's own parser. */
export async function readWarc(path: string): Promise<readonly ReadRecord[]> {
  const records: ReadRecord[] = [];
  for await (const record of new WARCParser(createReadStream(path))) {
    const text = await record.contentText();
    const type = record.warcType ?? '';
    records.push({
      type,
      url: record.warcTargetURI ?? '',
      statusline: record.httpHeaders?.statusline ?? '',
      headers: Object.fromEntries(record.httpHeaders?.headers.entries() ?? []),
      warcHeader: (name) => record.warcHeader(name) ?? null,
      text,
      key: type === 'metadata' ? (JSON.parse(text) as { key: string }).key : null,
    });
  }
  return records;
}
