-- The ledger of a job. Short names: there are as many of these as there are URLs.
-- h host, b batch, p priority, q sequence, t entered at, d deadline, n not_before, a attempts, s tokens spent,
-- r run, x 429s in this run, f deferrals, v delivery, c 1: a redirect may go on, 2: the next request is uncounted,
-- u times that was granted for a result that could not be handed over, k admission nonce, kt tokens
-- left then, o admissions, ad admitted at, l lease, lh its host, lu lease until, rs reservation until, rh its host,
-- w waiting cause, wu until, wl lane the job is in, rq requests, by bytes, e end, ea ended at, ev last evidence,
-- aw 1: deferred and not sent since, jn 1: joined a run and not sent since, tr 1: has a trail, lt 1: the last answer was a throttle.
-- Numbers are 0 and texts '' by default, except that the first run is 1.
local LEDGER_TEXTS = { h = '', b = '', k = '', kt = '', l = '', lh = '', rh = '', w = '', wl = '', e = '', ev = '', r = 1 }
local LEDGER = { __index = function(_, field) return LEDGER_TEXTS[field] or 0 end }

local function ledger_read(key) return packed_read(key, LEDGER) end

-- Who came later is younger. The counter begins at the instant: should it be lost, the new one is far ahead of all that
-- the old one gave (jobs do not come faster than one each millisecond for years), and nobody passes those who wait.
local function next_age(key, now)
  local age = redis.call('INCR', key)
  if age > 1 then return age end
  redis.call('SET', key, now)
  return now
end

-- The lane's order: priority, then age; fixed for the job's life, so a retried job keeps its place.
local function lane_score(j) return j.p * 10000000000000 + j.q end

local TRAIL_MOST = 20
local function trail(key, now, event, detail)
  if redis.call('LPUSH', key, string.format('%.17g', now) .. '|' .. event .. '|' .. detail) > TRAIL_MOST then
    redis.call('LTRIM', key, 0, TRAIL_MOST - 1)
  end
end
