/** Questions to start from. */

import type { SqlScope } from "../../api/client";

export interface Example {
  readonly title: string;
  readonly query: string;
}

type Examples = readonly [Example, ...Example[]];

const OF_TRACE: Examples = [
  {
    title: "Device time by kind",
    query: `select kind, count(*) as events, sum(duration_us) as us
from device_events
group by kind
order by us desc`,
  },
  {
    title: "Kernels of the backward pass by module",
    query: `select m.path, m.class, count(*) as kernels, sum(e.duration_us) as us
from device_events e
join modules m on m.id = e.module_id
where e.phase = 'backward'
group by all
order by us desc
limit 20`,
  },
  {
    title: "Calls that wait for the device",
    query: `select cause, module, count(*) as times, sum(duration_us) as us
from syncs
group by all
order by us desc`,
  },
  {
    title: "Longest gaps of a device",
    query: `select start_us, duration_us, cause
from gaps
order by duration_us desc
limit 20`,
  },
  {
    title: "Critical path by what it is",
    query: `select part, kind, count(*) as pieces, sum(duration_us) as us
from critical_path
group by all
order by us desc`,
  },
];

/** Ids count within a trace: a join of tables of traces is by worker, too. */
const OF_RUN: Examples = [
  {
    title: "Device time by rank and kind",
    query: `select worker, kind, count(*) as events, sum(duration_us) as us
from device_events
group by all
order by us desc`,
  },
  {
    title: "Stragglers",
    query: `select rank, module, reason, steps
from stragglers`,
  },
  {
    title: "Waits for other ranks by step",
    query: `select s.name, r.rank, s.wait_us
from rank_steps s
join ranks r on r.id = s.rank_id
order by s.wait_us desc
limit 20`,
  },
  {
    title: "Kernels of the backward pass by rank and module",
    query: `select worker, m.path, count(*) as kernels, sum(e.duration_us) as us
from device_events e
join modules m using (worker)
where m.id = e.module_id and e.phase = 'backward'
group by all
order by us desc
limit 20`,
  },
  {
    title: "Calls that wait for the device by rank",
    query: `select worker, cause, module, count(*) as times, sum(duration_us) as us
from syncs
group by all
order by us desc`,
  },
];

export const EXAMPLES: Readonly<Record<SqlScope, Examples>> = { trace: OF_TRACE, run: OF_RUN };
