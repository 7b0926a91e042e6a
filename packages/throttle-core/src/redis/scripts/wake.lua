-- wake: takes the hosts that are due on the wheel, and the jobs whose deadline has passed.
--
-- Guarantee: each due host is looked at by one caller; its first admissible jobs are called, jobs that were called
-- and did not come are called again, and its next instant is set. An expired job is named at most every 5 s until
-- it is finished; a job with a live request is named when its lease ends.
--
-- KEYS  1 wheel zset  2 deadlines zset
-- The hosts are known by the wheel and the jobs by `deadlines` only: their keys are named here, under the same tag.
-- ARGV  1 key prefix  2 hosts max  3 jobs max  4 time (ms; '': Redis TIME)
-- Reply next at|'', now, number of calls, calls..., expired jobs...

-- @include clock
-- @include packed
-- @include pace
-- @include host-state
-- @include admissible
-- @include calling
-- @include ledger
-- @include ending

local prefix, hosts_max, jobs_max = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local now = clock(ARGV[4])
local list, expired = {}, {}

for _, part in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, hosts_max)) do
  if #list >= jobs_max then break end
  local keys = host_keys(prefix, part)
  redis.call('ZREMRANGEBYSCORE', keys.leases, '-inf', now)
  local h = host_read(keys.host)
  -- Should the index of hosts have lost it: the sweep finds waiting jobs by their hosts.
  if h.meta.known then redis.call('ZADD', prefix .. ':hosts', 0, part) end
  call_host(h, part, keys, now, jobs_max, true, list)
end

for _, job in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now, 'LIMIT', 0, jobs_max)) do
  local j = ledger_read(prefix .. ':job:' .. job)
  if not j.meta.known or j.e ~= '' then
    redis.call('ZREM', KEYS[2], job)
  elseif j.l ~= '' and j.lu > now then
    redis.call('ZADD', KEYS[2], j.lu, job)
  else
    redis.call('ZADD', KEYS[2], now + CALL_AGAIN_MS, job)
    expired[#expired + 1] = job
  end
end

local next_at = ''
for _, key in ipairs({ KEYS[1], KEYS[2] }) do
  local first = redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')
  if first[2] and (next_at == '' or tonumber(first[2]) < next_at) then next_at = tonumber(first[2]) end
end
local answer = { next_at == '' and '' or math.ceil(next_at), now, #list }
for i = 1, #list do answer[#answer + 1] = list[i] end
for i = 1, #expired do answer[#answer + 1] = expired[i] end
return answer
