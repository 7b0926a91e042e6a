-- settle: ends an admitted request.
--
-- Guarantee: the lease is freed, and the host's, the job's and the batch's effects are applied once. A late result
-- (lease gone) teaches the host nothing but a longer cooldown; an older generation changes no circuit. The job's
-- effect applies while this delivery and this lease are the job's last. The same nonce gets the same answer.
--
-- KEYS  1 job string  2 batch string  3 host string  4 leases zset  5 lane zset  6 called zset  7 wheel zset  8 trail list
--       9 deadlines zset  10 reply string, the answer of this nonce; TTL 60 s
--       (types and TTL as in admit.lua)
-- ARGV  1 key prefix  2 job  3 host part  4 lease  5 nonce  6 delivery  7 outcome  8 time (ms; '': Redis TIME)
--       9 cooldown until (ms; 0)  10 no usable wait 0|1  11 hold reason|''  12 RateLimit remaining|''  13 window ms
--       14 valid until ms  15 done|stop|retry_at|defer|hold|continue|release  16 not_before ms
--       17 0, 1: in place, 2: the next request is uncounted
--       18 stop reason  19 requests  20 bytes  21 cost (millionths)  22 latency ms  23 evidence
--       24 ms an ended ledger is kept  25 rules, JSON (fragments/rules.lua)
-- Reply settled|late, look at|'', now, due|'', cause, cooldown until, circuit, held 0|1, interval (text), called jobs...

-- @include clock
-- @include packed
-- @include pace
-- @include rules
-- @include host-state
-- @include admissible
-- @include calling
-- @include fallback
-- @include ledger
-- @include batch-state
-- @include ending
-- @include circuit
-- @include hold
-- @include host-effect
-- @include job-effect

local prefix, job, part, lease, nonce = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local now = clock(ARGV[8])
local r = cjson.decode(ARGV[25])
local j = ledger_read(KEYS[1])
if j.l ~= lease then
  local said = redis.call('GET', KEYS[10])
  if said then return cmsgpack.unpack(said) end
end
local h = host_read(KEYS[3])
local mine = j.l == lease and j.lh == part and j.e == ''
local live = mine and j.lu > now

local epoch, generation, bound, purpose = string.match(lease, '%.(%d+)%.(%d+)%.%a(%d)(%a)$')
local result = {
  outcome = ARGV[7], cooldown = tonumber(ARGV[9]), noHint = ARGV[10] == '1', hold = ARGV[11],
  epoch = tonumber(epoch), generation = tonumber(generation), bound = bound == '1', lease = lease, purpose = purpose,
  latencyMs = tonumber(ARGV[22]),
}
if mine then redis.call('ZREM', KEYS[4], lease) end
if h.meta.known then
  local longer = extend_cooldown(h, result.cooldown)
  -- For people who ask why the host is closed, also about jobs that never met it.
  if longer or (live and result.hold ~= '') then
    host_set(h, 'why', ARGV[23])
    host_set(h, 'whyAt', now)
  end
  if live then
    if ARGV[12] ~= '' then
      result.rateLimit = { remaining = tonumber(ARGV[12]), untilMs = tonumber(ARGV[14]) }
    end
    result.inFlight = redis.call('ZCOUNT', KEYS[4], '(' .. score_text(now), '+inf')
    apply_host_effect(h, r, j, result, now)
  elseif longer then
    close_late(h)
  end
end

local due, cause = '', ''
if mine then
  local b = batch_read(KEYS[2])
  local requests, bytes = tonumber(ARGV[19]), tonumber(ARGV[20])
  b.requests, b.bytes, b.cost = b.requests + requests, b.bytes + bytes, b.cost + tonumber(ARGV[21])
  j.rq, j.by = j.rq + requests, j.by + bytes
  local throttled = result.outcome == 'throttled'
  if throttled then b.throttled = b.throttled + 1 end
  local keep_ms = tonumber(ARGV[24])
  if tonumber(ARGV[6]) == j.v then
    due, cause = apply_job_effect(j, h, b, r, {
      job = job, part = part, prefix = prefix, leases = KEYS[4], lane = KEYS[5], called = KEYS[6], trail = KEYS[8], now = now,
      kind = ARGV[15], notBefore = tonumber(ARGV[16]), inPlace = ARGV[17] == '1',
      uncounted = ARGV[17] == '2', reason = ARGV[18],
      throttled = throttled, purpose = purpose, evidence = ARGV[23], keepMs = keep_ms,
    })
  else
    j.l = nil
    packed_write(j)
  end
  batch_write(b, keep_ms)
end
if h.meta.dirty then host_write(h, now) end

local list = {}
local keys = { leases = KEYS[4], lane = KEYS[5], called = KEYS[6], wheel = KEYS[7] }
local look_at = call_host(h, part, keys, now, 64, false, list)
local answer = {
  live and 'settled' or 'late', look_at or '', now, due, cause, h.cooldown, h.circuit, h.hold and 1 or 0,
  score_text(h.interval),
}
for i = 1, #list do answer[9 + i] = list[i] end
-- Kept for a repeated question; without it a lost reply would lose the calls it named for five seconds.
redis.call('SET', KEYS[10], cmsgpack.pack(answer), 'PX', 60000)
return answer
