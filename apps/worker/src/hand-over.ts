import type { Listing } from '@holdoff/url-job';
import type { Attempt } from './attempt.ts';
import { DeliveryFault, type DeliveredPage, type EndedUrl } from './deliver-result.ts';

/**
 * How long a result is kept by the worker that has it while a place does not take it: six more tries in 24 s. The page
 * is here, and to fetch it again is the dearest way to get it.
 */
export const REDELIVERY_WAITS_MS = [500, 1_000, 2_000, 4_000, 8_000, 8_000] as const;

/** URLs that a page named, and what they are where they are no pages. */
export interface FollowedLinks {
  readonly links: readonly string[];
  readonly reads?: Listing;
}

const NO_LINKS: FollowedLinks = { links: [] };

/**
 * One result on its way to all the places that must have it before its job ends: follow-up URLs, sinks, the stream of
 * stopped jobs. It remembers which have it, so that a place that took it is not given it again by this worker. The URLs
 * to follow go first: entering them again changes nothing, while a second line would be a duplicate.
 */
export class HandOver {
  readonly #attempt: Attempt;
  readonly #page: DeliveredPage;
  readonly #follow: FollowedLinks;
  readonly #taken = new Set<string>();
  #ended: EndedUrl;
  #followed = false;
  #tries = 0;

  constructor(attempt: Attempt, ended: EndedUrl, page: DeliveredPage, follow: FollowedLinks = NO_LINKS) {
    this.#attempt = attempt;
    this.#ended = ended;
    this.#page = page;
    this.#follow = follow;
  }

  /** False: some place did not take it. A full disk is no fault of the host. */
  async try(): Promise<boolean> {
    const { parts, job, delivery } = this.#attempt;
    this.#tries += 1;
    try {
      await this.#enterLinks();
      await parts.deliver(this.#ended, this.#page, this.#taken, this.#tries > 1 || delivery.number > 1);
      if (this.#ended.outcome === 'stopped') await parts.recordStopped(job, this.#ended);
      return true;
    } catch (error) {
      if (!(error instanceof DeliveryFault)) throw error;
      parts.events.deliveryFault(error);
      return false;
    }
  }

  /** Tries again for a while, or until the work is cut. False: the page has to be fetched again. */
  async tryAgain(): Promise<boolean> {
    const { parts, delivery } = this.#attempt;
    for (const waitMs of REDELIVERY_WAITS_MS) {
      await parts.sleep(waitMs, delivery.signal);
      if (delivery.signal.aborted) return false;
      if (await this.try()) return true;
    }
    return false;
  }

  async #enterLinks(): Promise<void> {
    const { links, reads } = this.#follow;
    if (this.#followed || links.length === 0) return;
    const { parts, job } = this.#attempt;
    const { refused } = await parts.enterFollowUps(job, this.#ended.finalUrl, links, reads);
    this.#followed = true;
    if (refused === 0) return;
    const detail = `${this.#ended.detail}; ${refused} of ${links.length} follow-up URLs refused`;
    this.#ended = { ...this.#ended, detail };
  }
}
