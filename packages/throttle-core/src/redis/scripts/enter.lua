-- enter: registers jobs of one batch before they are added to the queue.
--
-- Guarantee: each job gets its ledger, and is counted in its batch, once; entering it again answers `duplicate`.
-- At most about `concurrency` jobs of a host are told `go` before they were admitted; the rest wait in its lane.
--
-- KEYS  1 batch string  2 batches zset  3 sequence string  4 deadlines zset  5 wheel zset  6 hosts zset
-- Jobs and hosts vary in number: their keys are named here, under the same hash tag.
-- ARGV  1 key prefix  2 batch  3 time (ms; '': Redis TIME)  4.. batch defaults (fragments/batch-create.lua), then for
--       each job: id, host part, concurrency, priority, not_before ms (0), deadline ms (0)
-- Reply now, then for each job: go|wait|duplicate|refused, cause|end|reason|'', fallback ms

-- @include clock
-- @include packed
-- @include pace
-- @include host-state
-- @include admissible
-- @include calling
-- @include fallback
-- @include ledger
-- @include ending
-- @include batch-state
-- @include batch-create

local BATCH, SEQUENCE, DEADLINES, WHEEL, HOSTS = KEYS[1], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local prefix, batch = ARGV[1], ARGV[2]
local now = clock(ARGV[3])
local first = 4 + BATCH_DEFAULTS
local b, created = batch_create(BATCH, KEYS[2], batch, 4, now)
local states, new_jobs, answer = {}, 0, { now }

local function host_of(part, cap)
  local s = states[part]
  if s then return s end
  local keys = host_keys(prefix, part)
  s = { h = host_read(keys.host), keys = keys, waiting = redis.call('ZCARD', keys.lane), joined = 0, went = 0 }
  if not s.h.meta.known then
    redis.call('ZADD', HOSTS, 0, part)
    host_set(s.h, 'cap', cap)
  end
  s.barrier, s.falls = host_barrier(s.h, keys.leases, now)
  local _, _, occupied = on_their_way(s.h, keys.called, now)
  s.free = cap - redis.call('ZCOUNT', keys.leases, '(' .. score_text(now), '+inf') - occupied
  states[part] = s
  return s
end

local function place_in(s, job, j)
  local cause = s.barrier or (s.waiting > 0 and 'turn') or (s.free <= 0 and 'slots') or nil
  if not cause then
    s.free, s.went = s.free - 1, s.went + 1
    redis.call('ZADD', s.keys.called, now + CALL_AGAIN_MS, job)
    return 'go', '', 0
  end
  redis.call('ZADD', s.keys.lane, lane_score(j), job)
  s.waiting, s.joined = s.waiting + 1, s.joined + 1
  return 'wait', cause, fallback_at(s.h, s.waiting - 1, j.d, now)
end

local function again(j)
  if j.e ~= '' then return 'duplicate', j.e, 0 end
  if j.n > now then return 'duplicate', '', j.n end
  if j.wl == '' then return 'duplicate', '', now end
  return 'duplicate', '', fallback_at(host_read(host_keys(prefix, j.wl).host), 0, j.d, now)
end

local function enter_one(i)
  local job, part, cap = ARGV[i], ARGV[i + 1], tonumber(ARGV[i + 2])
  local key = prefix .. ':job:' .. job
  local known = ledger_read(key)
  if known.meta.known then return again(known) end
  if b.cancelled == 1 then return 'refused', 'cancelled', 0 end
  new_jobs = new_jobs + 1
  local deadline = tonumber(ARGV[i + 5])
  if b.deadline > 0 and (deadline == 0 or b.deadline < deadline) then deadline = b.deadline end
  local j = known
  j.h, j.b, j.t, j.p, j.d = part, batch, now, tonumber(ARGV[i + 3]), deadline
  j.q, j.n = next_age(SEQUENCE, now), tonumber(ARGV[i + 4])
  if j.d > 0 then redis.call('ZADD', DEADLINES, j.d, job) end
  local kind, cause, at, lane = 'wait', 'not_before', j.n, ''
  if j.n <= now then
    kind, cause, at = place_in(host_of(part, cap), job, j)
    if kind == 'wait' then lane = part end
  end
  if kind == 'wait' then j.w, j.wu, j.wl = cause, at, lane end
  packed_write(j)
  return kind, cause, at
end

for i = first, #ARGV, 6 do
  local kind, detail, at = enter_one(i)
  answer[#answer + 1] = kind
  answer[#answer + 1] = detail
  answer[#answer + 1] = at
end
if new_jobs > 0 and not created then redis.call('ZADD', KEYS[2], 0, batch) end
if new_jobs > 0 or created then
  b.jobs = b.jobs + new_jobs
  packed_write(b)
end
for part, s in pairs(states) do
  if s.h.meta.dirty then host_write(s.h, now) end
  if s.went > 0 then redis.call('PEXPIRE', s.keys.called, CALLED_TTL_MS) end
  if s.joined > 0 and s.barrier ~= 'held' then
    redis.call('ZADD', WHEEL, 'LT', s.barrier and s.falls or now + CALL_AGAIN_MS, part)
  end
end
return answer
