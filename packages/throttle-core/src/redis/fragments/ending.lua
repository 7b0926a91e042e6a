-- Ends a job: its index entries go, its ledger shrinks to what an audit and a report need, and expires.
-- `finish` is 'done' or a stop reason.
local function host_keys(prefix, part)
  return {
    host = prefix .. ':host:' .. part, leases = prefix .. ':leases:' .. part, lane = prefix .. ':lane:' .. part,
    called = prefix .. ':called:' .. part, wheel = prefix .. ':wheel',
  }
end

local function leave_lane(j, job, prefix)
  if j.wl == '' then return end
  redis.call('ZREM', prefix .. ':lane:' .. j.wl, job)
  redis.call('ZREM', prefix .. ':called:' .. j.wl, job)
end

local function end_job(j, job, prefix, trail_key, now, finish, nonce, evidence, keep_ms)
  leave_lane(j, job, prefix)
  if j.rs > 0 then redis.call('ZREM', prefix .. ':leases:' .. j.rh, job) end
  if j.d > 0 then redis.call('ZREM', prefix .. ':deadlines', job) end
  -- A long line would turn the compact hash into a big one: it goes where long lines are kept.
  local short = #evidence <= 60
  if not short then
    trail(trail_key, now, 'ended', evidence)
    j.tr = 1
  end
  redis.call('DEL', j.key)
  redis.call('HSET', j.key, 'h', j.h, 'b', j.b, 'p', j.p, 'q', j.q, 't', j.t, 'd', j.d, 'n', j.n, 'a', j.a,
    's', j.s, 'r', j.r, 'x', j.x, 'f', j.f, 'v', j.v, 'rq', j.rq, 'by', j.by, 'e', finish, 'ea', now,
    'z', nonce, 'ev', short and evidence or '', 'tr', j.tr)
  redis.call('PEXPIRE', j.key, keep_ms)
  if j.tr > 0 then redis.call('PEXPIRE', trail_key, keep_ms) end
end

local function batch_end_fields(j, finish, add)
  if finish == 'done' then
    add('done', 1)
    if j.a > 1 then add('recovered', 1) end
  else
    add('stopped', 1)
    add('stop:' .. finish, 1)
  end
end
