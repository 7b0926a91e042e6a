// Part of each package's build: what the compiler leaves behind in src/ (Lua, HTML, CSS) goes to dist/ under its own name.
import { cpSync } from 'node:fs';

cpSync('src', 'dist', { recursive: true, filter: (path) => !path.endsWith('.ts') });
