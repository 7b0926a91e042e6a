-- A batch's tokens: off, a share of its jobs, or a fixed number; top-ups are added to either.
-- Returns total and spent, or nil when the bucket is off.
local BATCH_COLUMNS = {
  'mode', 'share', 'least', 'fixed', 'extra', 'jobs', 'spent', 'approved', 'cancelled',
  'bytesMax', 'requestsMax', 'costMax', 'bytes', 'requests', 'cost', 'deadline',
}
local function batch_read(key)
  local v = redis.call('HMGET', key, unpack(BATCH_COLUMNS))
  local b = { key = key, known = v[1] and true or false, mode = v[1] or 'off' }
  for i = 2, #BATCH_COLUMNS do b[BATCH_COLUMNS[i]] = tonumber(v[i] or 0) end
  return b
end

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
