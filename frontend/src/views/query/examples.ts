/** Questions to start from. */

export interface Example {
  readonly title: string;
  readonly query: string;
}

export const EXAMPLES: readonly [Example, ...Example[]] = [
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
