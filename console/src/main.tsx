import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { createClient } from "../../src/client/index.js";
import { App } from "./app.js";
import "./styles/base.css";
import "./styles/layout.css";
import "./styles/conversation.css";
import "./styles/delegation.css";
import "./styles/approval.css";
import "./styles/timeline.css";
import "./styles/panels.css";
import "./styles/motion.css";

const root = document.getElementById("root");
if (root) {
  // The page lies beside the routes, under whatever path the host was mounted.
  const client = createClient({ baseUrl: new URL(".", window.location.href).href });
  createRoot(root).render(
    <StrictMode>
      <App client={client} />
    </StrictMode>,
  );
}
