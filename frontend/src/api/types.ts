/** What the server sends, under the names that the view of memory has for it. */

export type {
  MemoryAnswer as WireMemory,
  MemoryCurve as WireMemoryCurve,
  MemoryModule as WireMemoryModule,
  MemoryPeak as WireMemoryPeak,
  ReportData as WireReport,
  TablePage as WireTablePage,
} from "./schema";
