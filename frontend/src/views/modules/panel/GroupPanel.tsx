import type { ReactElement } from "react";

import type { ReportData } from "../../../api/schema";
import { Name } from "../../../components/Name";
import { PanelHeader, SidePanel } from "../../../components/SidePanel";
import { Facts } from "../../../components/SmallTable";
import { useMore } from "../../../components/more";
import { PlaceLink } from "../../../parts/PlaceLink";
import { usePlace } from "../../../parts/services";
import { count, counted, duration, percent, times } from "../../../text/formats";
import { pathText } from "../../../text/names";
import { MODULE_DEFINITIONS as D, timeDefinitions } from "../definitions";
import type { ModuleNumbers } from "../moduleNumbers";
import { groupMembers } from "../moduleTree";
import type { Modules } from "../useModules";

interface GroupPanelProps {
  report: ReportData;
  modules: Modules;
  /** Row of the tree of groups. */
  index: number;
}

/** What a class or a level costs in all, and which of its modules to open. */
export function GroupPanel({ report, modules, index }: GroupPanelProps): ReactElement | null {
  const [, go] = usePlace();
  const { tree, numbers, chosen } = modules;
  const node = tree.nodes[index];
  const sums = numbers[index];
  if (node === undefined || sums === undefined) return null;
  const per = chosen.averaging === "mean" && report.per_step.of > 1 ? " per step" : "";
  const close = (): void => go({ picked: null });
  return (
    <SidePanel label="Group" className="module-panel" onClose={close}>
      <PanelHeader onClose={close}>
        <Name text={node.label} />
      </PanelHeader>
      <p className="muted">
        {node.className} ·{" "}
        {sums.calls === null ? "calls not seen" : `${counted(sums.calls, "call")}${per}`}
      </p>
      <Totals sums={sums} modules={modules} />
      <Members modules={modules} index={index} />
    </SidePanel>
  );
}

function Totals({ sums, modules }: { sums: ModuleNumbers; modules: Modules }): ReactElement {
  const { chosen } = modules;
  const time = timeDefinitions(chosen);
  return (
    <Facts
      terms
      of={[
        [{ ...time.total, title: `${chosen.quantity}, ${time.total.title}` }, duration(sums.total)],
        [{ ...time.self, title: `${chosen.quantity}, ${time.self.title}` }, duration(sums.self)],
        [D.share, percent(sums.share)],
        [D.forward, duration(sums.forward)],
        [D.ratio, times(sums.ratio)],
        [D.kernels, count(sums.kernels)],
        [D.blocked, duration(sums.blocked)],
      ]}
    />
  );
}

/** The modules by what they cost themselves: what to open first stands first. */
function Members({ modules, index }: Omit<GroupPanelProps, "report">): ReactElement {
  const members = groupMembers(modules.tree, modules.numbers, index);
  const [shown, more] = useMore(members);
  const most = members[0]?.self ?? 0;
  return (
    <section aria-label="Modules of the group">
      <h3>Modules by their own {modules.chosen.quantity}</h3>
      <ul className="amounts">
        {shown.map(({ node, self }) => (
          <li key={node.index}>
            <PlaceLink to={{ module: node.path, picked: null }} className="link member">
              <Name text={pathText(node.path)} className="code" />
            </PlaceLink>
            <span>{duration(self)}</span>
            <span
              className="share-bar toned"
              style={{ width: `${most > 0 ? ((self ?? 0) / most) * 100 : 0}%` }}
            />
          </li>
        ))}
      </ul>
      {more}
    </section>
  );
}
