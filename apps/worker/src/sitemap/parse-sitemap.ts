import { setImmediate as nextTurn } from 'node:timers/promises';
import { TextDecoder } from 'node:util';
import sax from 'sax';

/** What https://www.sitemaps.org/protocol.html allows in one file. */
export const LOCATIONS_MAX = 50_000;
const LOCATION_CHARACTERS_MAX = 8_192;
/** `urlset`, `url`, `loc`, and room for the extensions (images, languages). */
const DEPTH_MAX = 16;
/** The parser works on so much at a time, and lets other jobs of the worker have their turn in between. */
const CHUNK_BYTES = 65_536;

export type Sitemap =
  | { readonly kind: 'urlset' | 'sitemapindex'; readonly locations: readonly string[] }
  | { readonly kind: 'bad'; readonly fault: string };

/**
 * Reads a sitemap or an index of sitemaps. Entities other than XML's own are refused, so nothing in it can expand, and
 * every dimension has a limit. Never throws.
 */
export async function parseSitemap(body: Uint8Array): Promise<Sitemap> {
  const reader = new SitemapReader();
  let decoder: TextDecoder;
  try {
    decoder = new TextDecoder(encodingOf(body), { fatal: true });
  } catch {
    return { kind: 'bad', fault: `its encoding ${JSON.stringify(encodingOf(body))} is not known` };
  }
  for (let start = 0; start < body.length && reader.fault === null; start += CHUNK_BYTES) {
    try {
      reader.write(decoder.decode(body.subarray(start, start + CHUNK_BYTES), { stream: true }));
    } catch {
      return { kind: 'bad', fault: 'its bytes are not of the encoding that it names' };
    }
    await nextTurn();
  }
  return reader.end();
}

const ENCODING = /^(?:\uFEFF)?<\?xml[^>]{0,200}?\sencoding\s*=\s*["']([\w.:-]{1,40})["']/;

function encodingOf(body: Uint8Array): string {
  if (body[0] === 0xfe && body[1] === 0xff) return 'utf-16be';
  if (body[0] === 0xff && body[1] === 0xfe) return 'utf-16le';
  return ENCODING.exec(Buffer.from(body.subarray(0, 300)).toString('latin1'))?.[1] ?? 'utf-8';
}

class SitemapReader {
  readonly #parser = sax.parser(true, { position: true });
  readonly #path: string[] = [];
  readonly #locations: string[] = [];
  #root: 'urlset' | 'sitemapindex' | null = null;
  /** Of the protocol's own elements here, such as `s:`; those of extensions have others. */
  #prefix = '';
  #text = '';
  #fault: string | null = null;

  constructor() {
    // oxlint-disable unicorn/prefer-add-event-listener -- it is no event target
    this.#parser.onerror = (error) => {
      const [what = 'it cannot be read'] = error.message.split('\n');
      this.#fail(`${what} in line ${this.#parser.line + 1}`);
    };
    this.#parser.onopentag = ({ name }) => this.#open(name);
    this.#parser.onclosetag = () => this.#close();
    this.#parser.ontext = (text) => this.#take(text);
    this.#parser.oncdata = (text) => this.#take(text);
    // oxlint-enable unicorn/prefer-add-event-listener
  }

  get fault(): string | null {
    return this.#fault;
  }

  write(text: string): void {
    if (this.#fault === null) this.#parser.write(text);
  }

  end(): Sitemap {
    if (this.#fault === null) this.#parser.close();
    if (this.#fault !== null) return { kind: 'bad', fault: this.#fault };
    if (this.#root === null) return { kind: 'bad', fault: 'it has neither urlset nor sitemapindex' };
    return { kind: this.#root, locations: this.#locations };
  }

  #open(fullName: string): void {
    if (this.#fault !== null) return;
    if (this.#path.length === 0) this.#prefix = prefixOf(fullName);
    const name = fullName.startsWith(this.#prefix) ? fullName.slice(this.#prefix.length) : fullName;
    if (this.#path.length === 0) {
      if (name === 'urlset' || name === 'sitemapindex') this.#root = name;
      else return this.#fail(`its root is ${JSON.stringify(name.slice(0, 40))}, not urlset or sitemapindex`);
    }
    this.#path.push(name);
    if (this.#path.length > DEPTH_MAX) this.#fail(`it is nested more than ${DEPTH_MAX} deep`);
    if (this.#isLocation()) this.#text = '';
  }

  #close(): void {
    if (this.#fault !== null) return;
    if (this.#isLocation()) {
      const location = this.#text.trim();
      if (this.#locations.length >= LOCATIONS_MAX) this.#fail(`it has more than ${LOCATIONS_MAX} entries`);
      else if (location !== '') this.#locations.push(location);
    }
    this.#path.pop();
  }

  #take(text: string): void {
    if (this.#fault !== null || !this.#isLocation()) return;
    this.#text += text;
    if (this.#text.trim().length > LOCATION_CHARACTERS_MAX)
      this.#fail(`it has an address of more than ${LOCATION_CHARACTERS_MAX} characters`);
  }

  /** `loc` of an entry; extensions have elements of that name elsewhere, such as `image:loc`. */
  #isLocation(): boolean {
    const [, entry, name] = this.#path;
    return (
      this.#path.length === 3 && name === 'loc' && entry === (this.#root === 'urlset' ? 'url' : 'sitemap')
    );
  }

  #fail(fault: string): void {
    this.#fault ??= fault;
    this.#locations.length = 0;
    // Else the parser would refuse every further piece by an exception.
    // oxlint-disable-next-line unicorn/no-null -- the parser's own way to go on
    this.#parser.error = null as unknown as Error;
  }
}

function prefixOf(name: string): string {
  return name.slice(0, name.indexOf(':') + 1);
}
