-- Ends a job: its index entries go, its ledger keeps what an audit and a report need, and expires.
-- `finish` is 'done' or a stop reason.
local function host_keys(prefix, part)
  return {
    host = prefix .. ':host:' .. part, leases = prefix .. ':leases:' .. part, lane = prefix .. ':lane:' .. part,
    called = prefix .. ':called:' .. part, wheel = prefix .. ':wheel',
  }
end

local function end_job(j, b, job, prefix, trail_key, now, finish, evidence, keep_ms)
  if j.wl ~= '' then
    redis.call('ZREM', prefix .. ':lane:' .. j.wl, job)
    redis.call('ZREM', prefix .. ':called:' .. j.wl, job)
  end
  if j.rs > 0 then redis.call('ZREM', prefix .. ':leases:' .. j.rh, job) end
  if j.d > 0 then redis.call('ZREM', prefix .. ':deadlines', job) end
  if j.aw == 1 then b.away, j.aw = b.away - 1, nil end
  j.e, j.ea = finish, now
  if #evidence <= 60 then
    j.ev = evidence
  else
    trail(trail_key, now, 'ended', evidence)
    j.tr = 1
  end
  j.k, j.kt, j.c, j.o, j.ad, j.l, j.lh, j.lu, j.rs, j.rh, j.w, j.wu, j.wl = nil
  packed_write(j, keep_ms)
  if j.tr > 0 then redis.call('PEXPIRE', trail_key, keep_ms) end
  if finish == 'done' then
    b.done = b.done + 1
    if j.a > 1 then b.recovered = b.recovered + 1 end
  else
    b.stopped = b.stopped + 1
    b.stops = b.stops or {}
    b.stops[finish] = (b.stops[finish] or 0) + 1
  end
end
