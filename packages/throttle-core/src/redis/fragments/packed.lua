-- Hosts, jobs and batches are MessagePack maps in plain strings: reading forty fields of a hash costs a script more
-- than all it decides. A field that has its default is left out. `meta` is about this call and never stored.
local function packed_read(key, defaults)
  local raw = redis.call('GET', key)
  local state = raw and cmsgpack.unpack(raw) or {}
  setmetatable(state, defaults)
  state.meta = { key = key, known = raw and true or false }
  return state
end

-- ttl_ms nil: kept until it is written otherwise.
local function packed_write(state, ttl_ms)
  local meta = state.meta
  state.meta = nil
  if ttl_ms then
    redis.call('SET', meta.key, cmsgpack.pack(state), 'PX', ttl_ms)
  else
    redis.call('SET', meta.key, cmsgpack.pack(state))
  end
  state.meta = meta
end
