// Downloads of a release, from a server that plays GitHub's.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import path from 'node:path';
import { after, test } from 'node:test';

import { folder, Job, only, patience, queuelock, root, serve } from './runner.mjs';

const table = await serve();
const name = archive(readFileSync(path.join(root, '.goreleaser.yaml'), 'utf8'));
const content = packed();
const sum = createHash('sha256').update(content).digest('hex');

/** files are those of the release: a function answers, or fails a request. */
let files = {};
const requests = [];
const releases = createServer((request, response) => {
  requests.push(request.url);
  const file = files[request.url];
  const { status = 200, body = '' } = typeof file === 'function' ? file() : file === undefined ? { status: 404 } : { body: file };
  response.writeHead(status).end(body);
});
await new Promise((resolve) => releases.listen(0, '127.0.0.1', resolve));
after(() => releases.close());
const mirror = `http://127.0.0.1:${releases.address().port}/download/`;

/** archive is the name that GoReleaser gives the archive of this system. */
function archive(config) {
  const [, template] = /name_template: "(queuelock_[^"]*)"/.exec(config);
  assert.match(config, /name_template: SHA256SUMS\n/);
  const values = { Version: '1.2.3', Os: process.platform, Arch: process.arch === 'x64' ? 'amd64' : process.arch };
  return `${template.replace(/\{\{ \.(\w+) \}\}/g, (_, value) => values[value])}.tar.gz`;
}

function packed() {
  const file = path.join(folder(), 'release.tar.gz');
  execFileSync('tar', ['-czf', file, '-C', path.dirname(queuelock), 'queuelock', '-C', root, 'LICENSE']);
  return readFileSync(file);
}

function release(changes = {}) {
  requests.length = 0;
  const sums = `${'0'.repeat(64)}  queuelock_1.2.3_plan9_amd64.tar.gz\n${sum}  ${name}\n`;
  files = { '/download/v1.2.3/SHA256SUMS': sums, [`/download/v1.2.3/${name}`]: content, ...changes };
}

for (const version of ['v1.2.3', '1.2.3']) {
  test(`version ${version} is downloaded, checked and used`, { timeout: patience }, async () => {
    release();
    const job = new Job(table);
    const main = await job.main({ entity: 'release', version, mirror, path: 'no-queuelock' });
    assert.equal(main.code, 0, main.lines.join('\n'));
    assert.ok(job.state.program.startsWith(job.dir), job.state.program);
    assert.equal((await job.post({})).code, 0);
  });
}

test('a download is repeated after a failure of the server', { timeout: patience }, async () => {
  let failures = 1;
  release({ '/download/v1.2.3/SHA256SUMS': () => (failures-- > 0 ? { status: 503 } : { body: `${sum}  ${name}\n` }) });
  const job = new Job(table);
  const main = await job.main({ entity: 'repeated', version: 'v1.2.3', mirror });
  assert.equal(main.code, 0, main.lines.join('\n'));
  assert.equal(requests.length, 3);
  assert.equal((await job.post({})).code, 0);
});

const sums = '/download/v1.2.3/SHA256SUMS';
const packedAs = `/download/v1.2.3/${name}`;
const wrong = {
  'another checksum': [{ [sums]: `${'0'.repeat(64)}  ${name}\n` }, /has the checksum [0-9a-f]{64}, which is not that of/],
  'no checksum': [{ [sums]: `${sum}  x${name}\n` }, /^SHA256SUMS of the release has no line for queuelock_1\.2\.3/],
  'no release': [{ [sums]: undefined }, /SHA256SUMS cannot be downloaded: status 404/],
  'no archive': [{ [packedAs]: undefined }, /cannot be downloaded: status 404/],
  'an archive that is cut': [{ [packedAs]: content.subarray(0, 1000) }, /which is not that of the release/],
};
for (const [what, [changes, message]] of Object.entries(wrong)) {
  test(`${what} is one error, and nothing is run`, { timeout: patience }, async () => {
    release(changes);
    const job = new Job(table);
    const main = await job.main({ entity: 'wrong', version: 'v1.2.3', mirror });
    assert.equal(main.code, 1);
    only(main, 'error', message);
    assert.deepEqual(job.state, {});
  });
}

test('an archive without the program is one error', { timeout: patience }, async () => {
  const nothing = Buffer.from('nothing');
  release({
    [sums]: `${createHash('sha256').update(nothing).digest('hex')}  ${name}\n`,
    [packedAs]: nothing,
  });
  const main = await new Job(table).main({ entity: 'wrong', version: 'v1.2.3', mirror });
  assert.equal(main.code, 1);
  only(main, 'error', /cannot be unpacked/);
});
