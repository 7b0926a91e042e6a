import type { BodyPolicy } from '@holdoff/throttle-core';
import type { UrlJob } from '@holdoff/url-job';
import { BoundedDecoder } from '../decode/bounded-decoder.ts';
import { FaultError } from '../fetch/fetch-fault.ts';
import type { HandlerVerdict } from '../handler/handler-verdict.ts';
import { parseSitemap } from './parse-sitemap.ts';

export type SitemapVerdict =
  | Extract<HandlerVerdict, { kind: 'useful' }>
  | { readonly kind: 'bad'; readonly fault: string };

/**
 * What a sitemap says is to be fetched: its pages, or the sitemaps of an index. A sitemap speaks for its own host only
 * (https://www.sitemaps.org/protocol.html#location), so addresses of others are left out and counted.
 */
export async function readSitemap(
  job: Pick<UrlJob, 'reads' | 'url'>,
  finalUrl: string,
  body: Uint8Array,
  limits: BodyPolicy,
): Promise<SitemapVerdict> {
  const text = isGzip(body) ? await unpacked(body, limits) : body;
  if (text === null) return { kind: 'bad', fault: 'its gzip is broken, or larger than the policy allows' };
  const sitemap = await parseSitemap(text);
  if (sitemap.kind === 'bad') return sitemap;
  const isIndex = sitemap.kind === 'sitemapindex';
  if (isIndex && job.reads === 'sitemap_part')
    return { kind: 'bad', fault: 'it is an index inside an index, which the protocol does not have' };
  const hosts = new Set([hostOf(job.url), hostOf(finalUrl)]);
  const follow = [...new Set(sitemap.locations)].filter((location) => hosts.has(hostOf(location, finalUrl)));
  const data = {
    sitemap: isIndex ? 'index' : 'urls',
    entries: sitemap.locations.length,
    followed: follow.length,
  };
  return {
    kind: 'useful',
    data: JSON.stringify(data),
    follow,
    ...(isIndex ? { followAs: 'sitemap_part' as const } : {}),
  };
}

function isGzip(body: Uint8Array): boolean {
  return body[0] === 0x1f && body[1] === 0x8b;
}

/** A file of its own, such as sitemap.xml.gz, unpacked within the limits that apply to any page. null: it is not within them. */
async function unpacked(body: Uint8Array, limits: BodyPolicy): Promise<Uint8Array | null> {
  const decoder = new BoundedDecoder('gzip', { ...limits, overflow: 'refuse' });
  try {
    await decoder.write(Buffer.from(body.buffer, body.byteOffset, body.byteLength));
    return await decoder.end();
  } catch (error) {
    if (error instanceof FaultError) return null;
    throw error;
  } finally {
    decoder.destroy();
  }
}

/** `www.` names the same site. */
function hostOf(url: string, base?: string): string {
  return URL.parse(url, base)?.hostname.replace(/^www\./, '') ?? '';
}
