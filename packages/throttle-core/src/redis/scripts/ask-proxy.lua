-- ask-proxy: may this job's request go through a proxy, which is a scope of the gate by itself?
--
-- Guarantee: while the proxy's circuit is open exactly one request of the fleet is out as its probe, and the others
-- stand in the proxy's lane. The same nonce asked again gets the same probe. A proxy that never failed has no state
-- and costs one read.
--
-- KEYS  1 job string  2 host string  3 leases zset (always empty)  4 lane zset  5 called zset  6 wheel zset  7 trail list
--       (types and TTL as in admit.lua; 2 to 5 are the proxy's)
-- A lane, called or leases key of another host is touched, under the same hash tag, only when the job had waited or kept
-- a slot there.
-- ARGV  1 key prefix  2 job  3 host part of the proxy  4 nonce  5 delivery  6 ms a probe may take
--       7 ms that must be left before the deadline  8 time (ms; '': Redis TIME)
-- Reply go, probe|'', generation, points, now, called jobs...
--       wait, cause, until ms, place|'', fallback ms, now
--       stop, now
--       stale, end|''
-- Untouched on go: the job's counters. A wait writes the job's lane entry, its ledger's waiting fields and delivery, the
-- wheel, gives up the job's reservation, and adds one trail line; stop and stale write nothing.

-- @include clock
-- @include packed
-- @include pace
-- @include host-state
-- @include admissible
-- @include calling
-- @include fallback
-- @include ledger

local prefix, job, part, nonce, delivery = ARGV[1], ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5])
local LANE, CALLED = KEYS[4], KEYS[5]
local now = clock(ARGV[8])
local j = ledger_read(KEYS[1])
if j.e ~= '' then return { 'stale', j.e } end
if j.meta.known and delivery < j.v then return { 'stale', '' } end
local h = host_read(KEYS[2])
if not h.meta.known then return { 'go', '', 0, 0, now } end

local function too_late(at) return j.d > 0 and at + tonumber(ARGV[7]) >= j.d end

local probe = job .. '.' .. nonce
local barrier, falls_at
if h.probe ~= probe or h.probeUntil <= now then barrier, falls_at = host_barrier(h, KEYS[3], now) end
if barrier then
  if too_late(now) or (barrier == 'cooldown' and too_late(falls_at)) then return { 'stop', now } end
  if not j.meta.known then
    local at = math.ceil(falls_at or now + CALL_AGAIN_MS)
    return { 'wait', barrier, at, '', at, now }
  end
  if j.wl ~= '' and j.wl ~= part then
    redis.call('ZREM', prefix .. ':lane:' .. j.wl, job)
    redis.call('ZREM', prefix .. ':called:' .. j.wl, job)
  end
  if j.rs > 0 then redis.call('ZREM', prefix .. ':leases:' .. j.rh, job) end
  redis.call('ZREM', CALLED, job)
  redis.call('ZADD', LANE, lane_score(j), job)
  local place = redis.call('ZRANK', LANE, job)
  local fallback = fallback_at(h, place, j.d, now)
  local until_ms = math.ceil(falls_at or fallback)
  j.v, j.w, j.wu, j.wl, j.rs, j.tr = delivery, barrier, until_ms, part, nil, 1
  packed_write(j)
  trail(KEYS[7], now, 'wait', part .. ' ' .. barrier .. ' until ' .. score_text(until_ms) .. (h.why and '; ' .. h.why or ''))
  if falls_at then redis.call('ZADD', KEYS[6], 'LT', math.max(now, math.min(until_ms, now + DAY_MS)), part) end
  return { 'wait', barrier, until_ms, place, fallback, now }
end

if j.wl == part then
  redis.call('ZREM', LANE, job)
  redis.call('ZREM', CALLED, job)
  j.wl = nil
  packed_write(j)
end
local mine = ''
if h.circuit ~= 'closed' then
  mine = probe
  host_set(h, 'circuit', 'half_open')
  host_set(h, 'probe', probe)
  host_set(h, 'probeUntil', math.max(h.probeUntil, now + tonumber(ARGV[6])))
end
if h.meta.dirty then host_write(h, now) end
local list = {}
call_host(h, part, { leases = KEYS[3], lane = LANE, called = CALLED, wheel = KEYS[6] }, now, 64, false, list)
local answer = { 'go', mine, h.generation, h.responses, now }
for i = 1, #list do answer[5 + i] = list[i] end
return answer
