#!/usr/bin/env node
// The installed command. Runs what `npm run build` made.
import '../dist/main.js';
