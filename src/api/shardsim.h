/*
 * The simulator as a few functions, for programs in any language: JSON text goes in, JSON text
 * comes out, in the form of `shardsim simulate --format json` (docs/python.md, docs/results.md).
 * The Python module is made of them. They need no header but this one, keep no state but the limit
 * of memory, may run in many threads at once, and never print, exit or return NULL. What they
 * return is freed with shardsim_free.
 *
 * The environment variable SHARDSIM_DATADIR names the folder of hwprofiles/ and workloads/ where it
 * is not the installed one.
 */
#pragma once

#ifdef __cplusplus
extern "C"
{
#endif

  /*
 * Predicts the scenarios of REQUEST, a map in JSON or YAML with any of the keys
 *
 *   file: scenarios.yaml      the scenarios' file, or the job of a framework, or
 *   text: "cluster: ..."      its text, which messages call `name`; relative paths begin in the
 *   name: mine.yaml           folder of that name
 *   set: {training.seq_len: 4096, tp: 2}    keys laid over each of them, or all there is; those of
                             the command line's options may stand without their section;
                             null unsets one
 *   job_as: torchtitan        whose job it is, where its keys do not tell
 *   lenient: false            predict a job without what cannot be followed
 *   hwprofiles: DIR           folders laid over the shipped profiles, as in PATH
 *   plugins: [mine.so]        strategies: trusted code
 *   unfolded, interval: false as the options of `shardsim simulate`
 *   steps, jobs: 0            the same
 *   remedies: false           also look for what would fit, of each that does not
 *   advise: false             also look for what would be faster, of each that fits
 *
 * The answer: {"schema": 1, "program_version": "0.1.0",
 *   "results": [...]          one a scenario that could be predicted, in their order
 *   "left_out": ["name"]      the others
 *   "diagnostics": [{"severity": "error", "message": "...", "hint": null, "file": "mine.yaml",
 *                    "line": 3, "column": 7}]
 *   "error": null}            a text: what has failed beside the input
 */
  char *shardsim_predict (const char *request);

  /*
 * What a call is to other threads, which end it or look how far it is. One is of one call, and may
 * be NULL there; it is freed when the call has returned.
 */
  typedef struct ShardsimStop ShardsimStop;

  ShardsimStop *shardsim_stop_new (void);
  void          shardsim_stop_now (ShardsimStop *stop);
  void          shardsim_stop_free (ShardsimStop *stop);

  /*
 * How far its call is: {"seconds": 3.2, since it began; null: it has not,
 *   "work": "searching 4 x dgx-h100", null where there is but one piece of work,
 *   "step": "simulating candidates", "done": 40, "todo": 64, "more": true: TODO may grow,
 *   "best": "6.42 s a step, 10203 tokens/s/GPU", null: nothing yet,
 *   "found": [{"label", "options": "--tp 2 ...", "step_time_s", "tokens_per_s_per_gpu",
 *     "peak_device_gib"}]}: of a search, the best so far, the best first.
 */
  char *shardsim_progress (ShardsimStop *stop);

  /* The same; once stopped it predicts nothing more, and the rest is left out with an "error". */
  char *shardsim_predict_until (const char *request, ShardsimStop *stop);

  /*
 * The commands of these names, of one scenario (a plan: of several). REQUEST holds file, text,
 * name, set, hwprofiles, plugins and jobs as above, and the command's own options under their
 * names, with '_' for '-': {"within": 2}. Those that may be repeated are lists: vary, gpu_nodes,
 * figure, map. Keys of the scenario stand in `set`.
 *
 * The answer is the document that the command prints with `--format json`, and at its end
 * "diagnostics" and "error" as above; with an error of either kind there is no more than these.
 * Where {"time_limit": "2 min"} or STOP has ended it early, it holds what there is by then and says
 * so in "partial".
 */
  char *shardsim_search (const char *request, ShardsimStop *stop);
  char *shardsim_plan (const char *request, ShardsimStop *stop);
  char *shardsim_sensitivity (const char *request, ShardsimStop *stop);

  /*
 * `shardsim simulate --max KEY`: {"max": "micro_batch"}, and unfolded, interval, steps. Where it is
 * ended early, "results" is empty if nothing was simulated by then.
 */
  char *shardsim_maximum (const char *request, ShardsimStop *stop);

  /*
 * What the streams of a scenario do in a step, as boxes for a picture: {"from": "10 ms", "to": "20
 * ms"} of the step, {"rank": 0} of the ranks that the answer names or {"all_ranks": true} for the
 * computing streams of each, {"boxes": 5000} at most; neighbours that are too narrow for that are
 * one box. The answer: report/answer/timeline.h, "diagnostics" and "error".
 */
  char *shardsim_timeline (const char *request, ShardsimStop *stop);

  /*
 * The scenarios of REQUEST (file, text, name, set, ...; they may leave the strategy open) as people
 * keep them: {"options": "--tp 2 ...", of `set` alone, "scenarios": [{"name", "yaml"}],
 * "diagnostics", "error"}.
 */
  char *shardsim_scenario (const char *request);

  /*
 * The cluster of a scenario, which may name no strategy, as it was resolved, for a picture: where
 * GPUs and cards hang, and the levels of switches: report/answer/machine.h.
 */
  char *shardsim_machine (const char *request);

  /*
 * The option tables, which forms are drawn of: {"sections": [{"name": "training", "options": [{
 * "key": "micro_batch", "type": "number", "default": "1", "help": "...", ...}]}], "strategies":
 * [{"name", "title", "outer", "options": [...]}], "commands": [{"name": "plan", "options":
 * [...]}]}: the latter stand in requests beside the scenario's.
 */
  char *shardsim_options (void);

  /*
 * What there is of KIND: "strategies", "models", or a kind of profile ("gpu", "link", "node",
 * "cluster", "framework", "library", "kernels"): {"items": [{"name": "fsdp2", "title": "..."}],
 * "diagnostics": [...]}.
 */
  char *shardsim_list (const char *kind);

  /*
 * How near predictions came to published training runs, run by run: {"columns": ["id",
 * "generation", "gpu", "framework", "strategy", "nodes", "precision", "error"], "runs": [[...]],
 * "diagnostics": [...]}; an error of 0.05 is a prediction that is 5 % too fast.
 */
  char *shardsim_track_record (void);

  /*
 * The most memory that this process may have of the machine while it simulates, "16 GB"; NULL: as
 * much as there is, as from the start. It holds for all calls from now on: memory is the process's.
 * A simulation that comes to more ends with an "error". The answer: {"diagnostics": [...]}.
 */
  char *shardsim_max_memory_use (const char *size);

  /* "0.1.0"; static. */
  const char *shardsim_version (void);

  void shardsim_free (char *text);

#ifdef __cplusplus
}
#endif
