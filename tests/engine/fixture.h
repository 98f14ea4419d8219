/* Short forms for the engine's tests. */
#pragma once

#include "engine/engine.h"

#include <check.h>

#define SECONDS(x) ((SimTime) ((x) *1e12 + 0.5))

/*
 * An op of one member on one stream; `reserve` units of `reserve_on` when that is not ENGINE_NONE.
 */
typedef struct
{
  OpClass    class_;
  SimTime    latency;
  Demand     demands[4]; /* up to the first amount that is 0 */
  WaveDemand waves;      /* none when `units` is 0 */
  double     share, cap;
  OrderId    order;   /* ORDER_OF (id), 0 for none */
  guint      members; /* 0 = 1 */
  gboolean   meets;
  guint64    tag;
} TestOp;

#define ORDER_OF(id) ((id) + 1)

OpId test_op_new (Engine *engine, TestOp op);
OpId test_submit (Engine *engine, StreamId stream, TestOp op);

/* Runs to the end; the test fails on a deadlock. */
void test_run (Engine *engine);

SimTime test_begin (const Engine *engine, OpId op);
SimTime test_end (const Engine *engine, OpId op);

/* A host that calls `call` at given times. */
typedef struct
{
  SimTime time;
  void (*call) (Engine *engine, gpointer user);
  gpointer user;
} TestCall;

typedef struct
{
  const TestCall *calls;
  guint           n, next;
} TestTimer;

HostId test_add_timer (Engine *engine, const char *name, TestTimer *timer);

/* The segments of every op cover begin..end; each is positive; neighbours differ. */
void test_check_segments (const Engine *engine);

/*
 * Walks the critical path back from OP to time 0 over gates and host blocks, asserting at each
 * step that what is said to have caused the next thing ended just then. Adds the parts to
 * PARTS[CAUSE_N]; they sum to OP's end.
 */
void test_walk (const Engine *engine, OpId op, SimTime parts[CAUSE_N]);

/* Runs SUITE and frees it: the exit status. */
int test_main (Suite *suite);
