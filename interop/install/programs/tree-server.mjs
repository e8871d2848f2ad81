import { serve } from "./serve.mjs";
import { answer } from "./tree.mjs";

serve(answer);
