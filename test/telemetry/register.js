// Registers OpenTelemetry's own SDK, as an operator's file for `node --import` does; spans become lines of the file $TEST_SPANS.

import { appendFileSync } from "node:fs";
import { trace } from "@opentelemetry/api";
import { BasicTracerProvider, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";

const exporter = {
  export(spans, done) {
    for (const { name, parentSpanContext } of spans)
      appendFileSync(
        process.env.TEST_SPANS ?? "",
        `${JSON.stringify({ name, parent: parentSpanContext?.spanId })}\n`,
      );
    done({ code: 0 });
  },
  shutdown: async () => {},
};
trace.setGlobalTracerProvider(
  new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }),
);
