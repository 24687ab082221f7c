#!/usr/bin/env -S node --initial-old-space-size=96
// The installed command. Runs what `npm run build` made. The flag: docs/operations.md, Memory.
import '../dist/main.js';
