import { useEffect, type ReactElement } from "react";

import { Name } from "../components/Name";
import { useLoad, useServices } from "../parts/services";
import { ErrorCard } from "../parts/states";
import { counted } from "../text/formats";
import { DryRunView } from "../views/dryrun/DryRunView";
import { Help } from "./Help";

/** A dry run in the place of traces: its syncs are all that there is. */
export function DryRunPage({ file }: { file: string }): ReactElement {
  const { api } = useServices();
  const loaded = useLoad(api.dryRun);
  useEffect(() => {
    document.title = `Syncs of a dry run · \u2068${file}\u2069 · HookView`;
  }, [file]);
  if (loaded.status === "error") {
    return <ErrorCard error={loaded.error} file={file} onRetry={loaded.retry} />;
  }
  const run = loaded.value;
  const cut = run?.cut?.syncs ?? 0;
  return (
    <div className="page">
      <header className="topbar">
        <span className="brand">HookView</span>
        <strong className="dry-run-mark">Dry run</strong>
        <Name text={file} className="code" />
        <span className="spring" />
        {cut > 0 && <span className="muted">{counted(cut, "row")} not shown: too many</span>}
        <Help />
      </header>
      <nav className="navigation" aria-label="Views">
        <a className="current" aria-current="page" href="#/syncs">
          <span>Syncs</span>
        </a>
      </nav>
      <main className="content">
        {run === null ? (
          <div className="state" role="status" aria-label="Loading" />
        ) : (
          <div className="content-inner">
            <h1 className="visually-hidden">Syncs of a dry run</h1>
            <DryRunView run={run} />
          </div>
        )}
      </main>
    </div>
  );
}
