/* An MLP, whole or a half at a time. */
#include "model/layer/layer-experts-private.h"

TapeValue
layer_activate (const LayerBuilder *b, const char *name, TapeValue hidden)
{
  const gint kind = b->shape->activation;

  if (kind == MODEL_ACTIVATION_SQUARED_RELU)
    return tape_squared_relu (b->tape, name, hidden);
  if (kind == MODEL_ACTIVATION_RELU || (kind == MODEL_ACTIVATION_AUTO && b->style->relu))
    return tape_relu (b->tape, name, hidden);
  return tape_gelu (b->tape, name, hidden);
}

/* As layer_add_linear, of whose hidden features a rank may train a slice. */
static TapeValue
add_projection (LayerBuilder *b, const char *name, const char *role, TapeValue in, gint64 k,
                gint64 n, Division division)
{
  TapeValue out;

  b->slices = training_slices (b->training);
  out = layer_add_linear (b, name, role, in, k, n, b->shape->mlp_bias, division);
  b->slices = 1;
  return out;
}

TapeValue
layer_widen (LayerBuilder *b, TapeValue x, const LayerMlp *mlp)
{
  const ModelShape *s = b->shape;
  TapeValue         hidden, gate;

  x = layer_enter (b, "mlp.gather", x);
  if (!s->gated_mlp)
    return layer_activate (
        b, "mlp.activation",
        add_projection (b, mlp->names[1], "mlp.up", x, s->d_model, mlp->width, COLUMNS));
  if (mlp->gate_up != NULL)
    {
      gint64    width = mlp->width / b->tp;
      double    elements = b->tokens * (double) width;
      TapeValue halves[2];

      hidden =
          add_projection (b, mlp->gate_up, "mlp.gate_up", x, s->d_model, 2 * mlp->width, COLUMNS);
      layer_split (b, "mlp.split", hidden, (double[]){ elements, elements }, 2, halves);
      return tape_gate (b->tape, "mlp.activation", halves[0], halves[1]);
    }
  gate = add_projection (b, mlp->names[0], "mlp.gate", x, s->d_model, mlp->width, COLUMNS);
  if (s->branch_scales)
    gate = layer_add_scale (b, "mlp.scale_gate", gate);
  hidden = add_projection (b, mlp->names[1], "mlp.up", x, s->d_model, mlp->width, COLUMNS);
  return tape_gate (b->tape, "mlp.activation", gate, hidden);
}

TapeValue
layer_narrow (LayerBuilder *b, TapeValue hidden, const LayerMlp *mlp)
{
  hidden =
      add_projection (b, mlp->names[2], "mlp.down", hidden, mlp->width, b->shape->d_model, ROWS);
  return b->shape->branch_scales ? layer_add_scale (b, "mlp.scale_down", hidden) : hidden;
}

TapeValue
layer_add_mlp (LayerBuilder *b, TapeValue x)
{
  const LayerMlp mlp = { .names = { b->style->gate, b->style->up, b->style->down },
                         .gate_up = b->style->gate_up,
                         .width = b->shape->d_ff };

  return layer_narrow (b, layer_widen (b, x, &mlp), &mlp);
}
