// The program queuelock: one that is there, or that of a release.

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { accessSync, constants, mkdtempSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

import { input } from './inputs.mjs';
import { Failure, info } from './runner.mjs';

const windows = process.platform === 'win32';
const file = windows ? 'queuelock.exe' : 'queuelock';

// Bounds of a download.
const attempts = 3;
const patience = 60_000;

/** program returns the path of the program. */
export async function program() {
  return input('version') ? release(input('version'), input('mirror')) : installed(input('path') || file);
}

/** installed finds a program by its path, or by its name in PATH. */
function installed(name) {
  const isPath = name.includes('/') || name.includes(path.sep);
  const folders = isPath ? ['.'] : (process.env.PATH ?? '').split(path.delimiter);
  const places = folders.map((dir) => path.resolve(dir, name));
  const found = places.flatMap((place) => (windows ? [place, `${place}.exe`] : [place])).find(executable);
  if (!found) {
    throw new Failure(`path ${JSON.stringify(name)}: there is no such program: set the input version or path`);
  }
  return found;
}

function executable(place) {
  try {
    accessSync(place, constants.X_OK);
    return statSync(place).isFile();
  } catch {
    return false;
  }
}

/** release downloads a release, and checks it. The names are those of .goreleaser.yaml. */
async function release(wanted, mirror) {
  const version = /^v?(\d+\.\d+\.\d+(-[\w.-]+)?)$/.exec(wanted)?.[1];
  if (!version) {
    throw new Failure(`version ${JSON.stringify(wanted)}: need a release such as v0.1.0`);
  }
  const system = { linux: 'linux', darwin: 'darwin', win32: 'windows' }[process.platform];
  const arch = { x64: 'amd64', arm64: 'arm64' }[process.arch];
  if (!system || !arch) {
    throw new Failure(`there is no release for ${process.platform} on ${process.arch}: set the input path`);
  }
  const archive = `queuelock_${version}_${system}_${arch}.${windows ? 'zip' : 'tar.gz'}`;
  const folder = `${mirror.replace(/\/+$/, '')}/v${version}`;
  const sums = (await download(`${folder}/SHA256SUMS`)).toString();
  const content = await download(`${folder}/${archive}`);
  check(archive, content, sums);

  const dir = mkdtempSync(path.join(process.env.RUNNER_TEMP || tmpdir(), 'queuelock-'));
  writeFileSync(path.join(dir, archive), content);
  // The tar of Windows reads zip files. Another one may come before it in PATH.
  const tar = windows ? path.join(process.env.SystemRoot, 'System32', 'tar.exe') : 'tar';
  try {
    execFileSync(tar, ['-xf', archive, file], { cwd: dir, stdio: 'pipe' });
  } catch (failure) {
    throw new Failure(`${archive} cannot be unpacked: ${failure.message.split('\n')[0]}`);
  }
  info(`downloaded ${archive}, whose checksum is right`);
  return path.join(dir, file);
}

/** check compares an archive with its line in a list of checksums. */
function check(archive, content, sums) {
  const line = sums.split('\n').find((each) => each.trimEnd().endsWith(`  ${archive}`));
  if (!line) {
    throw new Failure(`SHA256SUMS of the release has no line for ${archive}`);
  }
  const sum = createHash('sha256').update(content).digest('hex');
  if (line.split(' ')[0] !== sum) {
    throw new Failure(`${archive} has the checksum ${sum}, which is not that of the release: do not use it`);
  }
}

async function download(url) {
  for (let attempt = 1; ; attempt++) {
    let problem;
    try {
      const answer = await fetch(url, { signal: AbortSignal.timeout(patience) });
      if (answer.ok) {
        return Buffer.from(await answer.arrayBuffer());
      }
      problem = `status ${answer.status}`;
      if (answer.status < 500) {
        attempt = attempts; // it will not get better
      }
    } catch (failure) {
      problem = failure.cause?.message ?? failure.message;
    }
    if (attempt >= attempts) {
      throw new Failure(`${url} cannot be downloaded: ${problem}`);
    }
    await pause(attempt * 1000);
  }
}
