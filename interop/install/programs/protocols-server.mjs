import { answer } from "./protocols.mjs";
import { serve } from "./serve.mjs";

serve(answer);
