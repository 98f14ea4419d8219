#include "edge/star.h"

#include <math.h>

#define LIGHT 299792458.0 /* m/s, by definition */

double
radio_capacity (double bandwidth, double power, double gain, double noise)
{
  return bandwidth * log1p (power * gain / (noise * bandwidth)) / G_LN2;
}

double
radio_gain (const Radio *radio, const EdgeClient *client, guint channel)
{
  const double frequency = radio->frequency + channel * radio->bandwidth;
  const double metre = LIGHT / (4 * G_PI * frequency);

  if (client->gain > 0)
    return client->gain;
  return metre * metre * pow (client->distance, -radio->exponent);
}
