-- Calling: which waiting jobs are told to come, so that a slot finds its next request ready.
-- `called`: job -> instant until which the call counts as on its way. A job that did not show up by then is
-- called again and kept under ABSENT + instant: it no longer counts, except beyond one cap of absentees, so
-- that lost jobs cannot block a host and stopped workers cannot drain a lane into the queue.
local CALL_AGAIN_MS = 5000
local LOOK_AHEAD_MS = 100
-- Least time between two looks at a paced host: well within the time that calls run ahead, so that a fast host costs one
-- look for several requests.
local LOOK_GAP_MS = 25
local ABSENT = 4503599627370496
local CALLED_TTL_MS = 86400000

-- Slots whose next request may be called before they are free: a quarter of the host's, where requests are so
-- short that the job can wait for its slot in the worker. 0: none.
local QUICK_MS = 250
local function quick_slots(h)
  if h.latency <= 0 or h.latency > QUICK_MS then return 0 end
  return math.max(1, math.floor(h.cap / 4))
end

local function score_text(n) return string.format('%.17g', n) end

local function on_their_way(h, called, now)
  local live = redis.call('ZCOUNT', called, '(' .. score_text(now), '(' .. score_text(ABSENT))
  local stale = redis.call('ZCARD', called) - live
  return live, live + stale, live + math.max(0, stale - h.cap)
end

-- How many more jobs may be called, how many calls are recorded, when to look at the host again, and true when nobody
-- may be called before.
local function call_room(h, leases, called, now)
  local barrier, falls_at = host_barrier(h, leases, now)
  if barrier then return 0, 0, falls_at, true end
  local live_calls, recorded, occupied = on_their_way(h, called, now)
  local free = h.cap - redis.call('ZCOUNT', leases, '(' .. score_text(now), '+inf') - occupied + quick_slots(h)
  if host_single(h) then free = math.min(free, 1 - live_calls) end
  local look_at = now + CALL_AGAIN_MS
  local interval = h.interval
  if interval <= 0 then return math.max(0, free), recorded, look_at end
  local first = math.max(h.pace.nextAtMs, now)
  local instants = first <= now + LOOK_AHEAD_MS and math.floor((now + LOOK_AHEAD_MS - first) / interval) + 1 or 0
  if free > instants - live_calls then
    look_at = math.min(look_at, math.max(now + LOOK_GAP_MS, math.ceil(first + instants * interval - LOOK_AHEAD_MS)))
  end
  return math.max(0, math.min(free, instants - live_calls)), recorded, look_at
end

local function call_again(called, now, most, list)
  for _, base in ipairs({ 0, ABSENT }) do
    local due = redis.call('ZRANGEBYSCORE', called, score_text(base), score_text(base + now), 'LIMIT', 0, most - #list)
    for _, job in ipairs(due) do
      redis.call('ZADD', called, score_text(ABSENT + now + CALL_AGAIN_MS), job)
      list[#list + 1] = job
    end
    if #list >= most then return end
  end
end

local function call_first(lane, called, room, recorded, now, list)
  local front = redis.call('ZRANGE', lane, 0, room + recorded - 1)
  if #front == 0 then return end
  local marks = redis.call('ZMSCORE', called, unpack(front))
  local adds = { called }
  for i, job in ipairs(front) do
    if room == 0 then break end
    if not marks[i] then
      room = room - 1
      adds[#adds + 1] = score_text(now + CALL_AGAIN_MS)
      adds[#adds + 1] = job
      list[#list + 1] = job
    end
  end
  if #adds > 1 then
    redis.call('ZADD', unpack(adds))
    redis.call('PEXPIRE', called, CALLED_TTL_MS)
  end
end

-- Calls what can be called of one host, keeps its place on the wheel, and returns when to look again.
-- `again`: this is the look that the wheel asked for, which also calls those that did not come. What a single request
-- settles never puts that look off: on a busy host it would never come, and a lost job would wait for its fallback.
local function call_host(h, part, keys, now, most, again, list)
  if redis.call('ZCARD', keys.lane) == 0 then
    if again then redis.call('ZREM', keys.wheel, part) end
    return nil
  end
  local room, recorded, look_at, shut = call_room(h, keys.leases, keys.called, now)
  if again and not shut then
    local before = #list
    call_again(keys.called, now, most, list)
    -- Whoever is called again is the one.
    if #list > before and host_single(h) then room = 0 end
  end
  room = math.min(room, most - #list)
  if room > 0 then call_first(keys.lane, keys.called, room, recorded, now, list) end
  if look_at and #list >= most then look_at = now + 1 end
  if look_at and (again or shut) then
    redis.call('ZADD', keys.wheel, score_text(look_at), part)
  elseif look_at then
    redis.call('ZADD', keys.wheel, 'LT', score_text(look_at), part)
  else
    redis.call('ZREM', keys.wheel, part)
  end
  return look_at
end
