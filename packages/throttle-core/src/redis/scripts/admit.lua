-- admit: permission for one request on the wire, all or nothing.
--
-- Guarantee: one atomic decision in the order job, batch, not_before, deadline, attempts, hold, circuit, cooldown,
-- reopening, turn, slots, pace, tokens. Only a commit charges: lease, attempt, tokens and pace move together.
-- The same nonce asked again while its lease lives gets the same lease and is charged nothing.
--
-- KEYS  1 job       string ledger; no TTL while alive
--       2 batch     string batch counters and tokens; no TTL while jobs live
--       3 host      string host state; TTL pace keep + 1 day, none while held
--       4 leases    zset   lease or reserved job -> expiry (ms); TTL 1 day
--       5 lane      zset   waiting job -> priority, age
--       6 called    zset   called job -> call counts until (ms); TTL 1 day
--       7 wheel     zset   host -> next instant to look (ms)
--       8 trail     list   decision trail of the job, newest first, at most 20
--       9 hosts     zset   index of hosts, score 0
--      10 batches   zset   index of batches, score 0
-- A lane, called or leases key of another host is touched, under the same hash tag, only when the job had waited
-- or kept a slot there (redirects).
-- ARGV  1 key prefix  2 job  3 host part  4 batch  5 nonce  6 delivery  7 attempt|hop|robots  8 attempts max (0: none)
--       9 time (ms; '': Redis TIME)  10 rules, JSON (fragments/rules.lua)
-- Reply admitted, lease, attempt, probe 0|1, generation, epoch, tokens left|'', lease ms, now, facts
--       wait, cause, until ms, inline 0|1, place|'', fallback ms, now, facts
--       stop, reason, now, facts
--       stale, end|''
-- Untouched on refusal: every counter, token, slot and pace. A wait writes the job's lane entry, its mark in
-- `called`, the wheel, its ledger's waiting fields and delivery, gives up the job's own reservation, and adds one
-- trail line; an inline wait writes lane, called and wheel only; stop and stale write nothing.

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
-- @include facts

local JOB, BATCH, HOST, LEASES, LANE, CALLED, WHEEL, TRAIL = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7], KEYS[8]
local prefix, job, part, batch, nonce = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local delivery, purpose, attempts_max = tonumber(ARGV[6]), ARGV[7], tonumber(ARGV[8])
local now = clock(ARGV[9])
local r = cjson.decode(ARGV[10])
local j = ledger_read(JOB)
local h = host_read(HOST)
local b = batch_read(BATCH)

local function stop(reason) return reply({ 'stop', reason, now }, facts(j, h, b, r)) end

local function admitted(lease, epoch, generation, flag, tokens_left)
  return reply(
    { 'admitted', lease, j.a, flag == 'p' and 1 or 0, generation, epoch, tokens_left, r.attemptMs + r.leaseMarginMs, j.ad },
    facts(j, h, b, r)
  )
end

if j.e ~= '' then return { 'stale', j.e } end
-- With another batch: it joined a later run meanwhile, and comes again with that.
if j.meta.known and (delivery < j.v or j.b ~= batch) then return { 'stale', '' } end
if j.k == nonce and j.l ~= '' and j.lh == part and j.lu > now then
  local epoch, generation, flag = string.match(j.l, '%.(%d+)%.(%d+)%.(%a)%d%a$')
  return admitted(j.l, tonumber(epoch), tonumber(generation), flag, j.kt)
end
-- A job whose ledger is unknown (entered by another tool, or expired) is adopted with its first answer.
if not j.meta.known then
  j.h, j.b, j.p, j.q, j.t = part, batch, 50, next_age(prefix .. ':sequence', now), now
  packed_write(j)
  if not b.meta.known then batch_adopt(b, KEYS[10], batch, now) end
  b.jobs = b.jobs + 1
  packed_write(b)
end

-- A hop goes on from an attempt that settled with `continue`; any other hop is a re-send like any attempt.
-- Whatever follows what never reached the host, or a result that could not be handed over, is paid for already.
local counted = purpose ~= 'robots' and j.c ~= 2 and not (purpose == 'hop' and j.c == 1)
-- Kept beside the state for `wake`, which is told no policy.
local limited = pace_rules(r, h.override)
host_set(h, 'cap', r.cap)
host_set(h, 'interval', pace_interval(h.pace, limited, now))
host_set(h, 'keep', r.keepMs)

local function too_late(at) return j.d > 0 and at + r.attemptMs + r.headroomMs >= j.d end

local function forget_other_lane()
  if j.wl == '' or j.wl == part then return end
  redis.call('ZREM', prefix .. ':lane:' .. j.wl, job)
  redis.call('ZREM', prefix .. ':called:' .. j.wl, job)
end

local function leave_lane()
  forget_other_lane()
  if j.wl == part then redis.call('ZREM', LANE, job) end
  redis.call('ZREM', CALLED, job)
end

local function give_up_reservation()
  if j.rs > 0 then redis.call('ZREM', prefix .. ':leases:' .. j.rh, job) end
end

local function know_host()
  if not h.meta.known then redis.call('ZADD', KEYS[9], 0, part) end
  if h.meta.dirty then host_write(h, now) end
end

local function wait_reply(cause, at, inline, place, fallback)
  return reply({ 'wait', cause, at, inline, place, fallback, now }, facts(j, h, b, r))
end

local function write_wait(cause, at, lane, place)
  j.v, j.w, j.wu, j.wl, j.rs, j.tr = delivery, cause, at, lane, nil, 1
  packed_write(j)
  trail(TRAIL, now, 'wait', cause .. ' until ' .. score_text(at) .. (place == '' and '' or ', place ' .. place))
end

-- Waits outside the lane: nobody behind the job is held up by it.
local function wait_apart(cause, at)
  at = math.ceil(at)
  if at - now <= r.inlineMaxMs then return wait_reply(cause, at, 1, '', at) end
  leave_lane()
  give_up_reservation()
  write_wait(cause, at, '', '')
  return wait_reply(cause, at, 0, '', at)
end

local function wait_in_lane(cause, at, may_inline)
  know_host()
  forget_other_lane()
  redis.call('ZADD', LANE, lane_score(j), job)
  local place = redis.call('ZRANK', LANE, job)
  local fallback = fallback_at(h, place, j.d, now)
  local until_ms = math.ceil(at or fallback)
  local inline = may_inline and until_ms - now <= r.inlineMaxMs and not too_late(until_ms)
  if inline then
    redis.call('ZADD', CALLED, until_ms + CALL_AGAIN_MS, job)
    if j.wl ~= part then
      j.wl = part
      packed_write(j)
    end
  else
    redis.call('ZREM', CALLED, job)
    give_up_reservation()
    write_wait(cause, until_ms, part, place)
  end
  local look = cause == 'pace' and until_ms - LOOK_AHEAD_MS or until_ms
  if at then redis.call('ZADD', WHEEL, 'LT', math.max(now, math.min(look, now + DAY_MS)), part) end
  return wait_reply(cause, until_ms, inline and 1 or 0, place, fallback)
end

-- 1 batch, 2 the job's own limits
if b.cancelled == 1 then return stop('cancelled') end
if b.meta.known and b.approved ~= 1 then return stop('not_approved') end
if spend_exceeded(b) then return stop('spend') end
if j.n > now then
  if too_late(j.n) then return stop('deadline') end
  return wait_apart('not_before', j.n)
end
if too_late(now) then return stop('deadline') end
if counted and attempts_max > 0 and j.a >= attempts_max then return stop('attempts') end
-- Its first attempt in a batch is what the batch was made for, whatever it did in earlier runs.
local resend = counted and j.a > 0 and j.jn ~= 1
if resend and batch_tokens_left(b) == 0 then return stop('retry_budget') end

-- 3, 4, 5 the host's barriers
local barrier, falls_at = host_barrier(h, LEASES, now)
if barrier then
  if barrier == 'cooldown' and too_late(falls_at) then return stop('deadline') end
  return wait_in_lane(barrier, falls_at, barrier == 'cooldown')
end

local function lane_ahead() return redis.call('ZCOUNT', LANE, '-inf', '(' .. score_text(lane_score(j))) end

-- 6 its turn
local reserved = j.rs > now and j.rh == part
if lane_ahead() > 0 then
  if not reserved and not redis.call('ZSCORE', CALLED, job) then return wait_in_lane('turn', now + CALL_AGAIN_MS, false) end
end

-- 7 a slot
if not reserved and redis.call('ZCOUNT', LEASES, '(' .. score_text(now), '+inf') >= h.cap then
  -- Where requests are short, the next slot is about to free: those called ahead wait for it in place.
  local quick = quick_slots(h)
  if quick > 0 and lane_ahead() < quick then
    return wait_in_lane('slots', now + math.max(10, math.ceil(h.latency * (lane_ahead() + 1) / h.cap)), true)
  end
  return wait_in_lane('slots', now + CALL_AGAIN_MS, false)
end

-- 8 its instant: each waiting request that is on its way gets one of its own, so that nobody polls
local opens_at = pace_opens_at(h.pace, now)
if opens_at > now then
  local ahead = lane_ahead()
  if ahead > 0 then
    local live = on_their_way(h, CALLED, now)
    if redis.call('ZSCORE', CALLED, job) then live = live - 1 end
    ahead = math.min(ahead, math.max(0, live))
  end
  return wait_in_lane('pace', opens_at + ahead * h.interval, true)
end

-- 9 the host's retry tokens, against sick hosts: after a throttle, cooldown and pace govern the re-send
local tokens = host_tokens(h, r)
local host_pays = counted and j.a > 0 and j.lt ~= 1 and tokens
if host_pays and tokens < 1000000 then return stop('retry_budget') end

-- 10 commit
local flag = h.circuit ~= 'closed' and 'p' or 'n'
local bound = pace_commit(h.pace, limited, now)
local lease_ms = r.attemptMs + r.leaseMarginMs
j.o = j.o + 1
local lease = job .. '.' .. j.o .. '.' .. h.epoch .. '.' .. h.generation .. '.' .. flag .. bound .. string.sub(purpose, 1, 1)
if flag == 'p' then
  host_set(h, 'circuit', 'half_open')
  host_set(h, 'probe', lease)
  host_set(h, 'probeUntil', now + lease_ms)
end
host_set(h, 'serial', (h.serial + 1) % 16)
if h.serial == 0 then
  redis.call('ZREMRANGEBYSCORE', LEASES, '-inf', now)
  -- Should the indexes have lost them.
  redis.call('ZADD', KEYS[9], 0, part)
  redis.call('ZADD', KEYS[10], 0, batch)
end
if host_pays then host_set(h, 'tokens', tokens - 1000000) end
know_host()

give_up_reservation()
redis.call('ZADD', LEASES, now + lease_ms, lease)
redis.call('PEXPIRE', LEASES, DAY_MS)
leave_lane()

j.ad = now
if counted then
  j.a = j.a + 1
  b.attempts = b.attempts + 1
  j.jn = nil
  if resend then
    j.s = j.s + 1
    b.spent = b.spent + 1
  end
end
local returns = j.aw == 1
if returns then b.away, j.aw = b.away - 1, nil end
if counted or returns then packed_write(b) end
local left = batch_tokens_left(b) or ''
if purpose ~= 'robots' then j.c = nil end
j.v, j.k, j.kt, j.l, j.lh, j.lu = delivery, nonce, left, lease, part, now + lease_ms
j.rs, j.w, j.wu, j.wl = nil, nil, nil, nil
packed_write(j)
return admitted(lease, h.epoch, h.generation, flag, left)
