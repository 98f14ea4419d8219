/*
 * What a script's job is: settings with their places, by small scripts of the forms that people
 * write; errors in the shell's own terms; bounds; and that secrets stay where they are.
 */
#include <check.h>
#include <glib/gstdio.h>
#include <string.h>

#include "../suite.h"
#include "import/job/job-shell.h"

/* "key=value;..." of SCRIPT, or the first error. Newly allocated. */
static char *
read_script (const char *script, DiagList *diags)
{
  g_autoptr (GPtrArray) settings = job_shell_read ("run.sh", script, diags);
  GString              *out = g_string_new (NULL);

  if (settings == NULL)
    g_string_append_printf (out, "error: %s", diag_list_first_message (diags));
  for (guint i = 0; settings != NULL && i < settings->len; i++)
    {
      const JobSetting *setting = g_ptr_array_index (settings, i);

      g_string_append_printf (out, "%s%s=%s", i > 0 ? ";" : "", setting->key, setting->value);
    }
  return g_string_free (out, FALSE);
}

#define RUN "\ntorchrun pretrain_gpt.py --a $A --b 1\n"

/* Each script, and its settings. */
static const struct
{
  const char *script, *settings;
} goods[] = {
  /* commands and their arguments */
  { "--num-layers 2 --bf16 --lr 1e-4", "--num-layers=2;--bf16=true;--lr=1e-4" },
  { "python -u x/pretrain_gpt.py --a=1 --b 2 3 --c -1", "--a=1;--b=2,3;--c=-1" },
  { "torchrun --nproc_per_node 8 --nnodes=4 train.py --a 1 --b 2",
    "--nnodes=4;--nproc-per-node=8;--a=1;--b=2" },
  { "srun -N 2 --ntasks-per-node=4 python -m train.main --a 1 --b 2",
    "--nnodes=2;--nproc-per-node=4;--a=1;--b=2" },
  { "deepspeed --num_gpus 2 --num_nodes 3 p.py --a 1 --b 2",
    "--nnodes=3;--nproc-per-node=2;--a=1;--b=2" },
  { "python -m torch.distributed.run --nnodes 1:2 $S --a 1 --b 2", "--nnodes=1;--a=1;--b=2" },
  { "X=1 python a.py --a 1 --b 2 > log 2>&1 | tee out &", "--a=1;--b=2;$X=1" },
  { "python train.py --config-name=x model.seq_len=8 ++trainer.devices=4",
    "--config-name=x;model.seq_len=8;trainer.devices=4" },
  { "python tools/data.py --input x --output y\npython pretrain.py --a 1 --b 2 --c 3 --d 4 --e 5",
    "--a=1;--b=2;--c=3;--d=4;--e=5" },
  { "torchrun p.py --a 1 \\\n  --b 2 \\\n\n  --c 3", "--a=1;--b=2" },
  { "python p.py --a 1 --a 2 --b 1", "--a=2;--b=1" },
  { "python p.py --a 1 --b 1 ${MORE}", "--a=1;--b=1" },
  { "python p.py --a 1 --b $MBS", "--a=1;--b=$MBS" },
  /* quotes, variables, arrays */
  { "A='x y'\ntorchrun p.py --a \"$A\" --b $A", "--a=x y;--b=x,y" },
  { "A=(--x 1 '--y 2')\nA+=(--z 3)\npython p.py ${A[@]}", "--x=1;--y=2;--z=3" },
  { "A=(\n --x 1 # one\n #--w 2\n --y 2 \\\n)\npython p.py \"${A[@]}\"", "--x=1;--y=2" },
  { "A=\"--x 1\"\nA=\"$A --y 2\"\nA+=' --z 3'\npython p.py $A", "--x=1;--y=2;--z=3" },
  { "A=(--x 1 --y 2)\nbash -c \"python p.py ${A[*]}\"", "--x=1;--y=2" },
  { "declare -A M=([8b]=32 [70b]=80)\nS=70b\npython p.py --a ${M[$S]} --b 1", "--a=80;--b=1" },
  { "L=(4 5 6)\npython p.py --a ${L[1]} --b ${#L[@]}", "--a=5;--b=3" },
  { "python p.py --a ${X:-4} --b ${X-5}", "--a=4;--b=5" },
  { ": \"${X:=3}\"\npython p.py --a $X --b ${X:+7}", "--a=3;--b=7" },
  { "export A=${B:-\"a b\"}" RUN, "--a=a,b;--b=1" },
  { "A=run_8x4.sh; B=${A%.sh}; python p.py --a ${B##*_} --b ${A%%_*}", "--a=8x4;--b=run" },
  { "A=a/b/a\npython p.py --a ${A//a/c} --b ${A:2:3} --c ${A^^}", "--a=c/b/c;--b=b/a;--c=A/B/A" },
  { "N=A\nA=3\npython p.py --a ${!N} --b 1", "--a=3;--b=1" },
  { "A=$'x\\ty'\npython p.py --a \"$A\" --b \"\\$A\"", "--a=x\ty;--b=$A" },
  /* arithmetic */
  { "A=$((2+3*4))" RUN, "--a=14;--b=1" },
  { "N=4; A=$(( ($N > 1) ? N*2 : 1 ))" RUN, "--a=8;--b=1" },
  { "N=7; A=$((-N/2 + 2**3 % 5))" RUN, "--a=0;--b=1" },
  { "A=`expr 6 \\* 7`" RUN, "--a=42;--b=1" },
  { "A=$((X+1))" RUN, "--a=$((X+1));--b=1" },
  { "A=$((9223372036854775807+1))" RUN, "--a=$((9223372036854775807+1));--b=1" },
  /* commands are not run */
  { "A=$(nvidia-smi -L | wc -l)" RUN, "--a=$(nvidia-smi -L | wc -l);--b=1" },
  { "A=`date +%s`" RUN, "--a=`date +%s`;--b=1" },
  { "A=$(echo 3)" RUN, "--a=3;--b=1" },
  { "A=$(basename $(dirname /x/y/z))" RUN, "--a=y;--b=1" },
  /* conditions */
  { "M=8\nif [ $M = 7 ]; then A=1; elif [[ $M -eq 8 && ! $M > 9 ]]; then A=2; else A=3; fi" RUN,
    "--a=2;--b=1" },
  { "if [ -n \"${X}\" ]; then A=1; else A=2; fi" RUN, "--a=2;--b=1" },
  { "A=1; [ -z \"$X\" ] && A=2" RUN, "--a=2;--b=1" },
  { "A=1; [[ $A == 1* || x = y ]] || A=2" RUN, "--a=1;--b=1" },
  { "A=1; if ((A > 0)); then A=5; fi" RUN, "--a=5;--b=1" },
  { "M=b\ncase $M in\n a) A=1;;\n b|c) A=2 ;;\n *) A=3;;\nesac" RUN, "--a=2;--b=1" },
  { "while [[ $# -gt 0 ]]; do case $1 in -a) A=$2; shift 2;; esac; done\nA=${A:-6}" RUN,
    "--a=6;--b=1" },
  { "for i in \"$@\"; do A=$i; done" RUN, "--a=$A;--b=1" },
  { "mkdir -p x || { echo no; exit 1; }\nA=1" RUN, "--a=1;--b=1" },
  { "if [ $# -lt 1 ]; then echo usage; exit 1; fi\nA=1" RUN, "--a=1;--b=1" },
  /* functions, text that is read again */
  { "f() { A=$1; }\nf 4" RUN, "--a=4;--b=1" },
  { "function f { local B=$1; A=$B; return 0; A=9; }\nf 4" RUN, "--a=4;--b=1" },
  { "set -- 5 6\nA=$2; shift; B=$1" RUN, "--a=6;--b=1;$B=6" },
  { "C=\"torchrun p.py --a 1 --b 2\"\n$C", "--a=1;--b=2" },
  { "C=\"torchrun p.py --a 1 --b 2\"\neval $C |& tee log", "--a=1;--b=2" },
  { "C='python p.py --a 1'\nsrun --nodes=2 bash -c \"$C --b 2\"", "--nnodes=2;--a=1;--b=2" },
  { "N=3\nsbatch <<EOF\n#!/bin/bash\npython p.py --a $N --b '1'\nEOF", "--a=3;--b=1" },
  { "read -r -d '' A <<'EOF'\n--x 1\n--y $N\nEOF\npython p.py $A", "--x=1;--y=$N" },
  { "A=$(cat <<EOF\n--x 1 --y don't\nEOF\n)\npython p.py $A", "--x=1;--y=don't" },
  { "cat > x.json <<EOT\n{\"a\": 'unclosed }\nEOT\nA=1" RUN, "--a=1;--b=1" },
  { "python p.py --a 1 --b 2 <<< x", "--a=1;--b=2" },
  { "exec > >(tee log) 2>&1\nA=1" RUN, "--a=1;--b=1" },
  /* without a command */
  { "export MINIBS=4\nexport TP=\"${TP:=2}\"\nexport N=$((MINIBS*TP))", "$MINIBS=4;$TP=2;$N=8" },
  { "ARGS=(\n --a 1\n --b\n)\n", "--a=1;--b=true" },
  { "X=1\nP=\" --a $X --b 2 \"\nexport Q=\"$P --c\"", "--a=1;--b=2;--c=true;$X=1;$P= --a 1 --b 2 ;"
                                                      "$Q= --a 1 --b 2  --c" },
  { "#SBATCH --nodes=4\n#SBATCH --gres=gpu:a100:8\nA=1" RUN,
    "--nnodes=4;--nproc-per-node=8;--a=1;--b=1" },
  { "# nothing\n", "" },
};

START_TEST (test_good)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autofree char     *text = read_script (goods[_i].script, diags);

  ck_assert_str_eq (text, goods[_i].settings);
}
END_TEST

/* Each script, and its first error. */
static const struct
{
  const char *script, *error;
  guint       line, column;
} bads[] = {
  { "A=1\nB=\"x\n", "unexpected end of file while looking for the matching '\"'", 2, 3 },
  { "A='x", "unexpected end of file while looking for the matching '''", 1, 3 },
  { "A=$(x", "unexpected end of file while looking for the matching ')'", 1, 4 },
  { "A=${x", "unexpected end of file while looking for the matching '}'", 1, 4 },
  { "A=(1 2\n", "unexpected end of file while looking for the matching ')'", 1, 3 },
  { "f() {\n A=1\n", "unexpected end of file while looking for the matching '}'", 1, 5 },
  { "if [ a = b ]; then A=1\n", "syntax error: 'if' without 'fi'", 1, 1 },
  { "if true; A=1; fi\n", "syntax error near unexpected token 'fi'", 1, 15 },
  { "for i in 1; A=1; done", "syntax error near unexpected token 'A=1'", 1, 13 },
  { "A=1\nfi\n", "syntax error near unexpected token 'fi'", 2, 1 },
  { "A=1 )", "syntax error near unexpected token ')'", 1, 5 },
  { "while true; do A=1\n", "syntax error: 'while' without 'done'", 1, 1 },
  { "case x in\n a) A=1\n", "syntax error: 'case' without 'esac'", 1, 1 },
  { "[[ a = b", "'[[' without ']]'", 1, 3 },
  { "A=$((4/0))", "division by 0", 1, 6 },
  { "A=1 >", "syntax error: unexpected end of file", 1, 6 },
};

START_TEST (test_bad)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autofree char     *text = read_script (bads[_i].script, diags);
  DiagView             view;

  ck_assert (g_str_has_prefix (text, "error: "));
  ck_assert_str_eq (text + strlen ("error: "), bads[_i].error);
  ck_assert (diag_list_get (diags, 0, &view));
  ck_assert_uint_eq (view.line, bads[_i].line);
  ck_assert_uint_eq (view.column, bads[_i].column);
}
END_TEST

/* Each script, what is warned of, and what is read nevertheless. */
static const struct
{
  const char *script, *warning, *settings;
} warned[] = {
  { "S=$1; if [ $S = big ]; then A=2; else A=1; fi" RUN,
    "this condition depends on what the script does not say: the branch without it is read",
    "--a=1;--b=1" },
  { "if command -v x; then A=2; else A=1; fi" RUN,
    "this condition depends on what the script does not say: the branch without it is read",
    "--a=1;--b=1" },
  { "A=1\ncase $(uname) in Linux) A=2;; *) A=3;; esac" RUN,
    "this choice depends on what the script does not say: its default '*' is read", "--a=3;--b=1" },
  { "for A in 1 2 4; do torchrun p.py --a $A --b 1; done",
    "the loop of 3 rounds is read once, with A=1", "--a=1;--b=1" },
  { "A=1\n. ./no-such-file.sh" RUN,
    "'no-such-file.sh' is not beside the script: what it sets is not known", "--a=1;--b=1" },
  { "python p.py --a 1 --b 1\npython p.py --a 2 --b 1",
    "of 2 commands that may train this one is read", "--a=2;--b=1" },
};

START_TEST (test_warned)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autofree char     *text = read_script (warned[_i].script, diags);

  ck_assert_str_eq (text, warned[_i].settings);
  ck_assert_str_eq (diag_list_first_message (diags), warned[_i].warning);
}
END_TEST

/* An argument is reported where the script has it, whatever it went through. */
START_TEST (test_places)
{
  static const char  script[] = "A=(\n  --x 1\n)\nB=\"--y 2 --z 3\"\nC=\"python p.py ${A[@]} $B\"\n"
                                "eval $C\n";
  static const guint places[][2] = { { 2, 3 }, { 4, 4 }, { 4, 10 } };
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (GPtrArray) settings = job_shell_read ("run.sh", script, diags);

  ck_assert (settings != NULL);
  ck_assert_uint_eq (settings->len, G_N_ELEMENTS (places));
  for (guint i = 0; i < settings->len; i++)
    {
      const JobSetting *setting = g_ptr_array_index (settings, i);

      ck_assert_uint_eq (setting->mark.line, places[i][0]);
      ck_assert_uint_eq (setting->mark.column, places[i][1]);
      ck_assert_str_eq (setting->mark.file, "run.sh");
    }
}
END_TEST

/* Neither a setting nor a message has what looks like a secret. */
START_TEST (test_secrets)
{
  static const char script[] =
      "export HF_TOKEN=hf_abc\nWANDB_API_KEY=abc; for i in 1 2; do :; done\n"
      "MY_PASSWORD=abc && . ./nowhere.sh\nTOKENIZER=t\n"
      "python p.py --wandb-api-key abc --tokenizer-type x --tokens 4\n";
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autofree char     *text = read_script (script, diags);
  g_autofree char     *said = diag_list_format (diags, FALSE);

  ck_assert_str_eq (text, "--tokenizer-type=x;--tokens=4;$i=1;$TOKENIZER=t");
  ck_assert (!diag_list_is_empty (diags));
  ck_assert_ptr_null (strstr (said, "abc"));
}
END_TEST

/* What would take for ever, or all memory, ends with an error that says so. */
START_TEST (test_bounds)
{
  static const struct
  {
    const char *begin, *repeated, *end, *error;
    guint       n;
  } cases[] = {
    { "A=0123456789\n", "A=\"$A$A$A$A\"\n", "",
      "the expansions of the script take more than 32 MiB", 64 },
    { "", "$(", "", "commands and expansions are in each other more than 64 deep", 1000 },
    { "A=", "\"${A:-", "", "commands and expansions are in each other more than 64 deep", 1000 },
    { "", "if true; then\n", "", "commands and expansions are in each other more than 64 deep",
      1000 },
    { "", "{ ", "", "commands and expansions are in each other more than 64 deep", 1000 },
    { "f() { f; }\n", "", "f\n", "commands and expansions are in each other more than 64 deep", 0 },
    { "a() { :; }\n", "",
      "b() { a;a;a;a;a;a;a;a; }\nc() { b;b;b;b;b;b;b;b; }\n"
      "d() { c;c;c;c;c;c;c;c; }\ne() { d;d;d;d;d;d;d;d; }\n"
      "f() { e;e;e;e;e;e;e;e; }\ng() { f;f;f;f;f;f;f;f; }\ng\n",
      "the script has more than 131072 commands", 0 },
    { "A='eval $A'\neval $A\n", "", "",
      "commands and expansions are in each other more than 64 deep", 0 },
  };
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (GString)  script = g_string_new (cases[_i].begin);
  g_autofree char     *text = NULL;

  for (guint i = 0; i < cases[_i].n; i++)
    g_string_append (script, cases[_i].repeated);
  g_string_append (script, cases[_i].end);
  text = read_script (script->str, diags);
  ck_assert_msg (g_str_has_prefix (text, "error: "), "%.80s", text);
  ck_assert_str_eq (text + strlen ("error: "), cases[_i].error);
}
END_TEST

/* Files beside the script are read, with its variables and their arguments; none above it. */
START_TEST (test_files)
{
  g_autofree char      *folder = g_dir_make_tmp ("shardsim-shell-XXXXXX", NULL);
  g_autofree char      *run = g_build_filename (folder, "run.sh", NULL);
  g_autofree char      *common = g_build_filename (folder, "common.sh", NULL);
  g_autofree char      *submit = g_build_filename (folder, "submit.sh", NULL);
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (GPtrArray) settings = NULL;

  ck_assert (g_file_set_contents (common, "B=$((A+1))\n", -1, NULL));
  ck_assert (g_file_set_contents (submit, "python p.py --a $A --b $B --c $1\n", -1, NULL));
  settings = job_shell_read (run,
                             "A=1\nsource $(dirname ${BASH_SOURCE[0]})/common.sh\n"
                             ". `pwd`/submit.sh 7\nsource ../../../../etc/passwd\n",
                             diags);
  g_unlink (common);
  g_unlink (submit);
  g_rmdir (folder);
  ck_assert_msg (settings != NULL, "%s", diag_list_first_message (diags));
  ck_assert_uint_eq (settings->len, 3);
  ck_assert_str_eq (((JobSetting *) settings->pdata[1])->value, "2");
  ck_assert_str_eq (((JobSetting *) settings->pdata[2])->value, "7");
  ck_assert_str_eq (((JobSetting *) settings->pdata[0])->mark.file, submit);
  ck_assert_str_eq (diag_list_first_message (diags),
                    "'passwd' is not beside the script: what it sets is not known");
}
END_TEST

/* AddressSanitizer looks at the whole text whenever a function of strings is called. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LONG (1u << 19)
#endif
#endif
#ifndef LONG
#define LONG (16u << 20)
#endif

/* A script of 16 MiB is read, in time that grows with its length. */
START_TEST (test_long)
{
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (GPtrArray) settings = NULL;
  g_autoptr (GString)   script = g_string_new ("if false; then\n");

  while (script->len < LONG - 200)
    g_string_append (script, "A=\"$(echo ${B:-4})\" # a line of a long script\n");
  g_string_append (script, "fi\npython p.py --a 1 --b 2\n");
  settings = job_shell_read ("run.sh", script->str, diags);
  ck_assert (settings != NULL);
  ck_assert_uint_eq (settings->len, 2);
}
END_TEST

SUITE_MAIN (job_shell)
{
  Suite *suite = suite_create ("job-shell");
  TCase *tests = tcase_create ("all");

  suite_add_tcase (suite, tests);
  tcase_add_loop_test (tests, test_good, 0, G_N_ELEMENTS (goods));
  tcase_add_loop_test (tests, test_bad, 0, G_N_ELEMENTS (bads));
  tcase_add_loop_test (tests, test_warned, 0, G_N_ELEMENTS (warned));
  tcase_add_test (tests, test_places);
  tcase_add_test (tests, test_secrets);
  tcase_add_loop_test (tests, test_bounds, 0, 8);
  tcase_add_test (tests, test_files);
  tcase_add_test (tests, test_long);
  return suite_run (suite);
}
