local function hold_host(h, reason, by, now)
  if h.hold then return end
  host_set(h, 'hold', reason)
  h.holdBy, h.holdAt = by, now
end
