-- The state of a host. `interval`: the pace computed last, for `wake`, which is told no policy. `latency`: mean time
-- from admission to settlement. `tokens`: micro-tokens; absent: the policy's start. `keep`: how long it outlives its
-- last request. `why`, `whyAt`: the answer that closed it last; of a proxy, how it failed.
local HOUR_MS, DAY_MS = 3600000, 86400000
local HOST_TEXTS = { circuit = 'closed', probe = '', hold = false, tokens = false, override = false, pace = false, why = false }
local HOST = { __index = function(_, field)
  local text = HOST_TEXTS[field]
  if text == nil then return 0 end
  return text
end }
-- A new pace (NEW_PACE of core/pace.ts): a field that is missing here is 0.
local PACE = { __index = function(_, field)
  if field == 'phase' then return 'slow_start' end
  return field == 'brake' and 1 or 0
end }

local function host_read(key)
  local h = packed_read(key, HOST)
  h.pace = setmetatable(h.pace or {}, PACE)
  return h
end

local function host_set(h, field, value)
  if h[field] == value then return end
  h[field] = value
  h.meta.dirty = true
end

-- A host that nobody asks about any more vanishes, but never before its cooldown or what it learned, and never while
-- it is held: that is for its owner to end.
local function host_write(h, now)
  if h.hold then return packed_write(h) end
  packed_write(h, math.ceil(math.max(h.keep, h.cooldown - now, h.openUntil - now)) + DAY_MS)
end

local function host_tokens(h, r)
  return r.tokens and (h.tokens or r.tokens.start)
end
