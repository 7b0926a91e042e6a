-- The ledger of a job. Short names: there are as many of these hashes as there are URLs.
-- h host, b batch, p priority, q sequence, t entered at, d deadline, n not_before, a attempts, s tokens spent,
-- r run, x 429s in this run, f deferrals, v delivery, c 1: a redirect may go on, k admission nonce, kt tokens
-- left then, l lease, lu lease until, lh lease's host, rs reservation until, rh reservation's host, w waiting
-- cause, wu until, wl lane the job is in, e end, ea ended at, z settle nonce, ev last evidence, tr 1: has a trail.
local LEDGER_NUMBERS = { 'p', 'q', 't', 'd', 'n', 'a', 's', 'r', 'x', 'f', 'v', 'c', 'lu', 'rs', 'ad', 'rq', 'by', 'tr' }
local LEDGER_COLUMNS = {
  'p', 'q', 't', 'd', 'n', 'a', 's', 'r', 'x', 'f', 'v', 'c', 'lu', 'rs', 'ad', 'rq', 'by', 'tr',
  'h', 'b', 'k', 'kt', 'l', 'lh', 'rh', 'w', 'wl', 'e', 'z',
}
local LEDGER_TEXTS = { 'h', 'b', 'k', 'kt', 'l', 'lh', 'rh', 'w', 'wl', 'e', 'z' }

local function ledger_read(key)
  local v = redis.call('HMGET', key, unpack(LEDGER_COLUMNS))
  local j = { key = key }
  local count = #LEDGER_NUMBERS
  for i = 1, count do j[LEDGER_NUMBERS[i]] = tonumber(v[i] or 0) end
  for i = 1, #LEDGER_TEXTS do j[LEDGER_TEXTS[i]] = v[count + i] or '' end
  j.known = j.h ~= ''
  return j
end

-- The lane's order: priority, then age; fixed for the job's life, so a retried job keeps its place.
local function lane_score(j) return j.p * 10000000000000 + j.q end

local TRAIL_MOST = 20
local function trail(key, now, event, detail)
  if redis.call('LPUSH', key, string.format('%.17g', now) .. '|' .. event .. '|' .. detail) > TRAIL_MOST then
    redis.call('LTRIM', key, 0, TRAIL_MOST - 1)
  end
end
