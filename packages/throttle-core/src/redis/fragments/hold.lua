local function hold_host(h, reason, by, now)
  if h.hold then return end
  host_set(h, 'hold', reason)
  host_set(h, 'holdBy', by)
  host_set(h, 'holdAt', now)
  -- A hold is the owner's to end: it must not expire with the host.
  host_set(h, 'freshUntil', 0)
  redis.call('PERSIST', h.key)
end
