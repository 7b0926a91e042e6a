-- The gate's clock in whole milliseconds. A test may pass its own time; a worker's clock is never used.
local function clock(given)
  if given ~= '' then return tonumber(given) end
  local t = redis.call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end
