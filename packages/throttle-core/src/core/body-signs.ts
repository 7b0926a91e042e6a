/** What the beginning of an answer's body shows. It counts only on statuses that can mean it. */
export interface BodySigns {
  /** The page asks for a human. */
  readonly challenge: boolean;
  /** The page says that requests come too fast. */
  readonly rateLimited: boolean;
}

/** How much of a body is looked at, in characters. The marks stand in the head of such pages. */
export const BODY_SIGNS_CHARACTERS_MAX = 32_768;

/** Marks of the pages themselves (their scripts and forms), not of prose about them. */
const CHALLENGE_MARKS: readonly RegExp[] = [
  /\/cdn-cgi\/challenge-platform\//u,
  /\bcf[-_]chl[-_]/u,
  /<title>(?:Just a moment\.\.\.|Attention Required! \| Cloudflare)<\/title>/u,
  /captcha-delivery\.com\//u,
  /\/_Incapsula_Resource\?/u,
  /\bid="px-captcha"/u,
  /\bclass="(?:g-recaptcha|h-captcha)"/u,
  /\bawsWafCookieDomainList\b/u,
];

/** Sentences about this request. A page that merely explains its limits must not count. */
const RATE_LIMIT_MARKS: readonly RegExp[] = [
  /\b(?:exceeded|reached|hit)\b[^.<]{0,40}\brate[ -]?limit/iu,
  /rate[ _-]?limit(?:ed)?[ _-]?(?:has been |was )?(?:exceeded|reached)/iu,
  /\b(?:been|being) rate[ -]?limited\b/iu,
  /\btoo many requests\b/iu,
  /\berror code: 1015\b/iu,
  /\b(?:request|quota)[ _-]?(?:limit)?[ _-]?exceeded\b/iu,
];

/** Looks for signs in the beginning of a refused answer's body. Linear in what it looks at. */
export function readBodySigns(text: string): BodySigns {
  const beginning = text.slice(0, BODY_SIGNS_CHARACTERS_MAX);
  return {
    challenge: CHALLENGE_MARKS.some((mark) => mark.test(beginning)),
    rateLimited: RATE_LIMIT_MARKS.some((mark) => mark.test(beginning)),
  };
}
