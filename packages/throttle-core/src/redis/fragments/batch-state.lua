-- A batch's tokens: off, a share of its jobs, or a fixed number; top-ups are added to either.
local BATCH_STATE = { __index = function(_, field)
  if field == 'mode' then return 'off' end
  if field == 'stops' then return nil end
  return 0
end }

local function batch_read(key) return packed_read(key, BATCH_STATE) end

-- Total, or nil when the bucket is off.
local function batch_total(b)
  if b.mode == 'off' then return nil end
  if b.mode == 'fixed' then return b.fixed + b.extra end
  -- In millionths: 0.07 x 100 is a hair above 7 in binary and must not count as 8 (core/retry-budget.ts is the twin).
  local parts = math.floor(b.share * 1000000 + 0.5)
  return math.max(b.least, math.floor((parts * b.jobs + 999999) / 1000000)) + b.extra
end

local function batch_tokens_left(b)
  local total = batch_total(b)
  return total and math.max(0, total - b.spent)
end

local function spend_exceeded(b)
  return (b.bytesMax > 0 and b.bytes >= b.bytesMax) or (b.requestsMax > 0 and b.requests >= b.requestsMax)
    or (b.costMax > 0 and b.cost >= b.costMax)
end

-- A batch that nobody described: no tokens, approved, so that its jobs are counted and can be reported.
local function batch_adopt(b, index, batch, now)
  b.approved, b.created = 1, now
  b.meta.known = true
  redis.call('ZADD', index, 0, batch)
end

-- All jobs over: kept as long as their ledgers. New jobs make it stay.
local function batch_write(b, keep_ms)
  packed_write(b, b.jobs > 0 and b.done + b.stopped + b.moved >= b.jobs and keep_ms or nil)
end
