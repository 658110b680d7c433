// worker.js runs clients of dynamodb-lock-client for the benchmark. It reads one JSON
// request a line and writes one JSON answer a line, as internal/worker/message.go says.
"use strict";

const AWS = require("aws-sdk");
const { FailClosed, FailOpen } = require("dynamodb-lock-client");
const http = require("http");
const readline = require("readline");

const [subject] = process.argv.slice(-1);
const clients = new Map(); // by number
const locks = new Map(); // by the number of the request that acquired them

function open({ dynamodb, table, lease }) {
    const leaseMs = lease / 1e6;
    const documents = new AWS.DynamoDB.DocumentClient({
        endpoint: dynamodb,
        region: "us-east-1",
        accessKeyId: "local",
        secretAccessKey: "local",
        httpOptions: { agent: new http.Agent({ keepAlive: true, maxSockets: Infinity }) },
    });
    const common = { dynamodb: documents, lockTable: table, partitionKey: "id" };
    const make = retryCount => subject === "npm-open"
        ? new FailOpen({
            ...common, retryCount, leaseDurationMs: leaseMs,
            heartbeatPeriodMs: Math.floor(leaseMs / 3), trustLocalTime: true,
        })
        : new FailClosed({ ...common, retryCount, acquirePeriodMs: 100 });
    return { waiting: make(1e9), once: make(0) };
}

const acquire = (client, key) => new Promise((resolve, reject) =>
    client.acquireLock(key, (error, lock) => {
        if (error) {
            return reject(error);
        }
        // A lost lock is of no interest here, but an event without a listener ends the process.
        lock.on("error", () => {});
        resolve(lock);
    }));

const release = lock => new Promise((resolve, reject) =>
    lock.release(error => error ? reject(error) : resolve()));

async function cycles(client, { keys, concurrency, seconds }) {
    const begun = performance.now();
    const end = begun + seconds * 1000;
    const before = process.cpuUsage();
    let done = 0;
    await Promise.all(Array.from({ length: concurrency }, async (_, i) => {
        for (let n = i; n < keys || performance.now() < end; n += concurrency) {
            await release(await acquire(client.waiting, `key-${n % keys}`));
            done++;
        }
    }));
    const spent = process.cpuUsage(before);
    return {
        cycles: done, seconds: (performance.now() - begun) / 1000, cpuSeconds: (spent.user + spent.system) / 1e6,
    };
}

// Waiters cannot leave: they end with the process.
async function contend(client, { goroutines, hold, before, seconds }) {
    let turns = 0, failed = null;
    const sleep = s => new Promise(resolve => setTimeout(resolve, s * 1000));
    for (let i = 0; i < goroutines; i++) {
        (async () => {
            for (;;) {
                const lock = await acquire(client.waiting, "busy");
                if (hold > 0) {
                    await sleep(hold);
                }
                await release(lock);
                turns++;
            }
        })().catch(error => { failed ||= error; });
    }
    await sleep(before);
    const first = turns, begun = performance.now(), used = process.cpuUsage();
    await sleep(seconds);
    if (failed) {
        throw failed;
    }
    const spent = process.cpuUsage(used);
    return {
        cycles: turns - first, seconds: (performance.now() - begun) / 1000, cpuSeconds: (spent.user + spent.system) / 1e6,
    };
}

async function answer(request) {
    const client = clients.get(request.client);
    switch (request.op) {
    case "open":
        clients.set(request.client, open(request.site));
        return {};
    case "acquire":
        locks.set(request.id, await acquire(client.waiting, request.key));
        return { ok: true };
    case "try":
        try {
            locks.set(request.id, await acquire(client.once, request.key));
            return { ok: true };
        } catch (error) {
            if (error.code !== "FailedToAcquireLock") {
                throw error;
            }
            return { ok: false };
        }
    case "release": {
        const lock = locks.get(request.lock);
        locks.delete(request.lock);
        await release(lock);
        return {};
    }
    case "cycles":
        return cycles(client, request.work);
    case "contend":
        return contend(client, request.crowd);
    case "usage":
        global.gc();
        return { memory: process.memoryUsage().heapUsed, goroutines: -1 };
    default:
        throw new Error(`no operation ${request.op}`);
    }
}

readline.createInterface({ input: process.stdin }).on("line", async line => {
    const request = JSON.parse(line);
    let result;
    try {
        result = await answer(request);
    } catch (error) {
        result = { error: String(error) };
    }
    process.stdout.write(JSON.stringify({ id: request.id, ...result }) + "\n");
}).on("close", () => process.exit());
