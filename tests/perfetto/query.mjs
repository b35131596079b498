#!/usr/bin/env node
// Runs Perfetto's own importer on a trace and answers SQL queries about it, to check the traces that Tracelet writes.
//
// The importer is trace_processor compiled to WebAssembly, in the form the Perfetto UI loads into a browser's worker
// (`setup` fetches it; its folder is TRACE_PROCESSOR_DIR). Here its script runs inside a function that provides
// a worker's environment: a `self`, a message port, no `process`. The engine class at our end of the port speaks its
// wire protocol.
//
// The importer is lenient: it only counts packets that it cannot use. So a test asks for row counts *and* for --health,
// which fails when a statistic says that something was lost, skipped or not understood.

import fs from 'node:fs';
import path from 'node:path';
import {pathToFileURL} from 'node:url';

const USAGE = `usage: query.mjs [OPTION…] TRACE [SQL…]
  --csv           rows as CSV with a header (default)
  --json          rows as one JSON array of objects per query
  --values        bare values, columns parted by '|', no header
  --health        fail when the importer's statistics mean trouble; prints them
  --allow NAME    a statistic that may be set (with --health; may be repeated)
  -f FILE         a query from a file
exit: 0 all well, 1 the trace or a query was refused, 2 wrong usage, 3 statistics mean trouble`;

const EXIT_REFUSED = 1;
const EXIT_USAGE = 2;
const EXIT_UNHEALTHY = 3;

const CHUNK_SIZE = 8 << 20;

// Statistics of severity "info" that still indicate a problem. The _begin and _end counters are absolute readings of a
// kernel buffer; only their difference concerns this trace.
const HEALTH_SQL = `
  select name, idx, severity, value from stats
  where value > 0 and (
    severity in ('error', 'data_loss')
    or (name not glob '*_begin' and name not glob '*_end' and (
      name glob '*skipped*' or name glob '*invalid*' or name glob '*drop*' or name glob '*lost*' or name glob '*loss*'
      or name glob '*mismatch*' or name glob '*unknown*' or name glob '*unmatched*' or name glob '*misplaced*'
      or name glob '*overrun*' or name glob '*_error*' or name glob '*failure*')))
  order by name, idx`;

class Failure extends Error {
  constructor(exitStatus, message) {
    super(message);
    this.exitStatus = exitStatus;
  }
}

function parseArguments(words) {
  const options = {format: 'csv', health: false, allowed: new Set(), trace: null, queries: []};
  const operand = (list, name) => {
    if (!list.length) throw new Failure(EXIT_USAGE, `${name} needs an argument\n${USAGE}`);
    return list.shift();
  };
  const rest = [...words];
  while (rest.length) {
    const word = rest.shift();
    if (['--csv', '--json', '--values'].includes(word)) options.format = word.slice(2);
    else if (word === '--health') options.health = true;
    else if (word === '--allow') options.allowed.add(operand(rest, word));
    else if (word === '-f') options.queries.push(fs.readFileSync(operand(rest, word), 'utf8'));
    else if (word.startsWith('-') && word !== '-') throw new Failure(EXIT_USAGE, `unknown option ${word}\n${USAGE}`);
    else if (options.trace === null) options.trace = word;
    else options.queries.push(word);
  }
  if (options.trace === null || (!options.queries.length && !options.health)) throw new Failure(EXIT_USAGE, USAGE);
  return options;
}

// The worker's script with four replacements, each of which must match: no 64-bit memory (we have only the 32-bit
// module), the module's bytes instead of its address, a promise for "ready", no source map.
function workerScript(folder) {
  let script = fs.readFileSync(path.join(folder, 'engine_bundle.node.js'), 'utf8');
  const changes = [
    ['function hasMemory64Support() {', '$& return false;'],
    ['locateFile: (s) => s,', '$& wasmBinary: moduleBytes,'],
    ['deferredRuntimeInitialized.then(', 'self.ready = $&'],
    [/^;\(self\.__SOURCEMAPS[^\n]*$/m, ''],
  ];
  for (const [place, replacement] of changes) {
    const changed = script.replace(place, replacement);
    if (changed === script) throw new Failure(EXIT_REFUSED, `${folder}: not the importer this was written for: no ${place}`);
    script = changed;
  }
  return script;
}

async function startEngine(folder) {
  const {EngineBase} = await import(pathToFileURL(path.join(folder, 'engine.mjs')).href);
  const moduleBytes = new Uint8Array(fs.readFileSync(path.join(folder, 'trace_processor.wasm')));
  const scope = {location: {href: 'file:///engine_bundle.js'}};
  const diagnostics = process.env.TRACE_PROCESSOR_VERBOSE ? (...words) => console.error(...words) : () => {};
  const quietConsole = {log: diagnostics, warn: diagnostics, error: (...words) => console.error(...words)};
  const surroundings = {self: scope, WorkerGlobalScope: function () {}, console: quietConsole, moduleBytes,
                        process: undefined, window: undefined};
  new Function(...Object.keys(surroundings), workerScript(folder))(...Object.values(surroundings));
  await scope.ready;

  let engine = null;
  const port = {postMessage: (data) => engine.onRpcResponseBytes(new Uint8Array(data))};
  scope.onmessage({data: port});
  class Engine extends EngineBase {
    id = 'node';
    mode = 'WASM';
    rpcSendRequestBytes(data) {
      port.onmessage({data: new Uint8Array(data)});
    }
  }
  engine = new Engine();
  return engine;
}

async function importTrace(engine, file) {
  let descriptor;
  try {
    descriptor = file === '-' ? 0 : fs.openSync(file, 'r');
  } catch (error) {
    throw new Failure(EXIT_REFUSED, `${file}: ${error.message}`);
  }
  const chunk = Buffer.alloc(CHUNK_SIZE);
  let total = 0;
  try {
    for (let size; (size = fs.readSync(descriptor, chunk, 0, CHUNK_SIZE, null)) > 0; total += size) {
      await engine.parse(new Uint8Array(chunk.subarray(0, size)));
    }
    if (!total) throw new Error('empty file');
    await engine.notifyEof();
  } catch (error) {
    throw new Failure(EXIT_REFUSED, `${file}: import failed: ${error.message || error}`);
  }
}

async function query(engine, sql) {
  const reply = await engine.tryQuery(sql);
  if (!reply.ok) throw new Failure(EXIT_REFUSED, `query failed: ${reply.error}\n${sql}`);
  const columns = reply.value.columns();
  const rows = [];
  for (const row = reply.value.iter({}); row.valid(); row.next()) rows.push(columns.map((column) => row.get(column)));
  return {columns, rows};
}

const hex = (bytes) => Buffer.from(bytes).toString('hex');

function bareText(value) {
  if (value === null) return '';
  return value instanceof Uint8Array ? hex(value) : String(value);
}

function csvText(value) {
  const text = bareText(value);
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

// Writes 64-bit integers with all their digits, which JSON allows but JSON.stringify rejects.
function jsonText(value) {
  if (typeof value === 'bigint') return String(value);
  return JSON.stringify(value instanceof Uint8Array ? hex(value) : value);
}

const FORMATS = {
  csv: ({columns, rows}) => [columns, ...rows].map((row) => row.map(csvText).join(',')),
  values: ({rows}) => rows.map((row) => row.map(bareText).join('|')),
  json: ({columns, rows}) => {
    const objects = rows.map((row) => `{${row.map((value, i) => `${jsonText(columns[i])}:${jsonText(value)}`).join(',')}}`);
    return [`[${objects.join(',\n')}]`];
  },
};

async function reportHealth(engine, allowed) {
  const trouble = (await query(engine, HEALTH_SQL)).rows.filter(([name]) => !allowed.has(name));
  if (!trouble.length) return;
  const lines = trouble.map(([name, index, severity, value]) =>
    `  ${severity} ${name}${index === null ? '' : `[${index}]`} = ${value}`);
  throw new Failure(EXIT_UNHEALTHY, `statistics that mean trouble:\n${lines.join('\n')}`);
}

// The engine warns on the console about reply fields newer than itself: irrelevant for a test.
console.warn = () => {};

try {
  const options = parseArguments(process.argv.slice(2));
  const folder = process.env.TRACE_PROCESSOR_DIR;
  if (!folder) throw new Failure(EXIT_USAGE, 'TRACE_PROCESSOR_DIR is not set: it is what tests/perfetto/setup prints');
  const engine = await startEngine(path.resolve(folder));
  await importTrace(engine, options.trace);
  for (const sql of options.queries) {
    for (const line of FORMATS[options.format](await query(engine, sql))) fs.writeSync(1, `${line}\n`);
  }
  if (options.health) await reportHealth(engine, options.allowed);
} catch (error) {
  console.error(error instanceof Failure ? `query.mjs: ${error.message}` : error);
  process.exitCode = error instanceof Failure ? error.exitStatus : EXIT_REFUSED;
}
process.exit();
