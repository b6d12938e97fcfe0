import { type ReactElement, useRef } from "react";

import { modulePlace } from "../../address/links";
import type { EventDetail, EventLink, EventSummary, TimelineLane } from "../../api/schema";
import { Name } from "../../components/Name";
import { Facts, SmallTable } from "../../components/SmallTable";
import { CopyButton } from "../../components/controls";
import { type Loaded, usePlace } from "../../parts/services";
import { chainLines } from "../../report/chain";
import { evidenceText } from "../../report/headline";
import { clip, counted, duration, NOTHING } from "../../text/formats";
import { pathText } from "../../text/names";
import { groupBy } from "../../text/numbers";

interface EventPanelProps {
  loaded: Loaded<EventDetail>;
  lanes: readonly TimelineLane[];
  onLink: (spot: EventSummary) => void;
  onClose: () => void;
}

/** One event: what it is, its call stack, what it is linked to. */
export function EventPanel({ loaded, lanes, onLink, onClose }: EventPanelProps): ReactElement {
  if (loaded.status === "error") {
    return <p className="message">{loaded.error.message}</p>;
  }
  const event = loaded.value;
  if (event === null) return <p className="muted">Asking for the event …</p>;
  const onDevice = event.category === "kernel";
  return (
    <>
      <header>
        <h2>
          <Name kernel={onDevice} text={event.name} />
        </h2>
        <span className="muted">
          {event.category.replaceAll("_", " ")} on <Name text={laneText(lanes, event.lane)} />
        </span>
        <span className="spring" />
        <button type="button" className="quiet" onClick={onClose}>
          Close
        </button>
      </header>
      <div className="selection-columns">
        <div role="group" aria-label="Facts" tabIndex={0}>
          {onDevice && <Name text={event.name} className="code muted wrap" />}
          <EventFacts event={event} />
          <Arguments event={event} />
        </div>
        <Chain event={event} />
        <Links event={event} onLink={onLink} />
      </div>
    </>
  );
}

function EventFacts({ event }: { event: EventDetail }): ReactElement {
  const { self_us: self, device_us: device, step, evidence } = event;
  return (
    <Facts
      of={[
        ["duration", duration(event.duration)],
        self !== null && self !== event.duration && ["self time", duration(self)],
        device !== null && device > 0 && ["device time launched", duration(device)],
        ["start", duration(event.start)],
        ["step", step === null ? NOTHING : <Name key="step" text={step} />],
        ["phase", event.phase ?? NOTHING],
        ["module", <Owner key="module" event={event} />],
        evidence !== null && [
          "attributed via",
          <Name key="evidence" text={evidenceText(evidence)} />,
        ],
      ]}
    />
  );
}

/** The module that an event belongs to, or why it is not known. */
function Owner({ event }: { event: EventDetail }): ReactElement {
  const [, go] = usePlace();
  const { module } = event;
  if (module === null) return <Name text={event.no_module ?? NOTHING} />;
  return (
    <button
      type="button"
      className="link"
      title="Show module"
      onClick={() => go(modulePlace(module))}
    >
      <Name text={pathText(module)} className="code" />
    </button>
  );
}

function Arguments({ event }: { event: EventDetail }): ReactElement | null {
  if (event.args === null) {
    return (
      <p className="muted">The file can no longer be read, so its arguments are missing here.</p>
    );
  }
  const rows = argumentRows(event.args);
  if (rows.length === 0) return null;
  return (
    <SmallTable
      className="arguments"
      caption={<caption>Arguments</caption>}
      head={null}
      rows={rows}
      keyOf={([name]) => name}
      columns={[
        [null, ([name]) => <Name text={name} />],
        [null, ([, value]) => <Name text={value} className="code" />],
      ]}
    />
  );
}

function Links({
  event,
  onLink,
}: {
  event: EventDetail;
  onLink: (spot: EventSummary) => void;
}): ReactElement {
  const groups = linkGroups(event.links);
  return (
    <div className="event-links" role="group" aria-label="Links">
      <h3>Links</h3>
      {groups.length === 0 && <p className="muted">The trace links it to nothing.</p>}
      {groups.map(([relation, links]) => (
        <div key={relation}>
          <h4>{relation}</h4>
          <ul>
            {links.map((link) => (
              <li key={link.id}>
                <button type="button" className="link" onClick={() => onLink(link)}>
                  <Name kernel text={link.name} className="code" />
                </button>
                <span className="muted">{duration(link.duration)}</span>
              </li>
            ))}
          </ul>
        </div>
      ))}
      {event.links_omitted > 0 && (
        <p className="muted">and {counted(event.links_omitted, "link")} more</p>
      )}
    </div>
  );
}

/** What led to an event, as indented text that can be copied; its events can be selected. */
function Chain({ event }: { event: EventDetail }): ReactElement {
  const [, go] = usePlace();
  const source = useRef<HTMLPreElement>(null);
  const lines = chainLines(event);
  return (
    <section aria-label="Chain">
      <header>
        <h3>Call stack</h3>
        <CopyButton
          text={lines.map(({ indent, text }) => indent + text).join("\n")}
          source={source}
        />
      </header>
      <pre ref={source} className="chain" tabIndex={0}>
        {lines.map(({ indent, kind, text, id }, index) => (
          <span key={index} className={`link-${kind}`}>
            {indent}
            {id === null ? (
              <bdi>{clip(text, 300)}</bdi>
            ) : (
              <button
                type="button"
                className="link"
                onClick={() => go({ event: String(id), range: null })}
              >
                <bdi>{clip(text, 300)}</bdi>
              </button>
            )}
            {"\n"}
          </span>
        ))}
      </pre>
    </section>
  );
}

/** How much of an argument is shown. */
const MOST_CHARACTERS = 400;

/** Arguments of an event as texts, by name. */
export function argumentRows(args: Readonly<Record<string, unknown>>): [string, string][] {
  return Object.entries(args).map(([name, value]) => [
    name,
    clip(typeof value === "string" ? value : JSON.stringify(value), MOST_CHARACTERS),
  ]);
}

/** What a lane is called in a sentence. */
export function laneText(lanes: readonly TimelineLane[], id: string): string {
  const lane = lanes.find((one) => one.id === id);
  if (lane === undefined) return "no lane";
  const { group, title, subtitle } = lane;
  return subtitle === "" ? `${group} ${title}`.trim() : `${title}, ${subtitle}`;
}

/** Links by what they mean and what shows them, in the order in which the server has them. */
export function linkGroups(links: readonly EventLink[]): [string, EventLink[]][] {
  return [...groupBy(links, meaningOf)];
}

function meaningOf({ relation, kind, evidence }: EventLink): string {
  const shown = [kind?.replaceAll("_", "-"), evidence === null ? null : `by ${evidence}`];
  const said = shown.filter((text) => text != null).join(", ");
  return said === "" ? relation : `${relation} (${said})`;
}
